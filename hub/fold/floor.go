package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// Floor says who may open the next turn, or continue the open one. Anyone is true when any participant may.
type Floor struct {
	Speaker string
	Anyone  bool
	rules   []parley.RuleTried
}

// floor finds who has the floor of an active conversation and notes each rule that was tried.
func (s *State) floor() Floor {
	f := Floor{rules: make([]parley.RuleTried, 0, 4)}
	if s.Open {
		f.decide("open_turn", fmt.Sprintf("turn %d is open and belongs to %s", s.Turn, s.Owner))
		f.Speaker = s.Owner
		return f
	}
	f.pass("open_turn", "no turn is open")
	if s.LastSpeaker == "" && s.StartsWith != "" {
		f.decide("starts_with", fmt.Sprintf("the conversation starts with %s", s.StartsWith))
		f.Speaker = s.StartsWith
		return f
	}
	f.pass("starts_with", s.whyNotStart())
	if s.Policy.Kind == parley.PolicyOpen {
		f.decide("open", "the policy is open: anyone may take the floor")
		f.Anyone = true
		return f
	}
	s.roundRobin(&f)
	return f
}

func (s *State) whyNotStart() string {
	if s.LastSpeaker != "" {
		return fmt.Sprintf("%s has spoken", s.LastSpeaker)
	}
	return "no first speaker was named"
}

// roundRobin gives the floor to the participant after the last speaker. It always finds one.
func (s *State) roundRobin(f *Floor) {
	if len(s.Participants) == 0 {
		f.decide("round_robin", "there is no participant")
		return
	}
	for i, p := range s.Participants {
		if p.ID == s.LastSpeaker {
			f.Speaker = s.Participants[(i+1)%len(s.Participants)].ID
			f.decide("round_robin", fmt.Sprintf("%s comes after %s", f.Speaker, p.ID))
			return
		}
	}
	f.Speaker = s.Participants[0].ID
	f.decide("round_robin", fmt.Sprintf("%s is the first participant", f.Speaker))
}

func (f *Floor) pass(rule, because string) {
	f.rules = append(f.rules, parley.RuleTried{Rule: rule, Because: because})
}

func (f *Floor) decide(rule, because string) {
	f.rules = append(f.rules, parley.RuleTried{Rule: rule, Decided: true, Because: because})
}

func (f *Floor) holds(id string) bool { return f.Anyone || f.Speaker == id }
