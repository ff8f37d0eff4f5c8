package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// The rules that find who has the floor, by the names that guidance gives them.
const (
	ruleOpenTurn   = "open_turn"
	ruleStartsWith = "starts_with"
	ruleOpen       = "open"
	ruleRoundRobin = "round_robin"
)

// Floor says who may open the next turn, or continue the open one. Anyone is true when any participant may.
type Floor struct {
	Speaker string
	Anyone  bool
	rule    string // that decided
}

// floor finds who has the floor of an active conversation. It is asked for every append, so it explains nothing: see because
// and tried.
func (s *State) floor() Floor {
	switch {
	case s.Open:
		return Floor{Speaker: s.Owner, rule: ruleOpenTurn}
	case s.LastSpeaker == "" && s.StartsWith != "":
		return Floor{Speaker: s.StartsWith, rule: ruleStartsWith}
	case s.Policy.Kind == parley.PolicyOpen:
		return Floor{Anyone: true, rule: ruleOpen}
	}
	return Floor{Speaker: s.afterLast(), rule: ruleRoundRobin}
}

// afterLast is the participant after the last speaker, or the first; empty only where there is none.
func (s *State) afterLast() string {
	if len(s.Participants) == 0 {
		return ""
	}
	return s.Participants[(s.Seat(s.LastSpeaker)+1)%len(s.Participants)].ID // Seat is -1 before anybody has spoken
}

func (f Floor) holds(id string) bool { return f.Anyone || f.Speaker == id }

// because says why the rule that decided gave the floor so, as a sentence without a full stop.
func (s *State) because(f Floor) string {
	switch {
	case f.rule == ruleOpenTurn:
		return fmt.Sprintf("turn %d is open and belongs to %s", s.Turn, s.Owner)
	case f.rule == ruleStartsWith:
		return fmt.Sprintf("the conversation starts with %s", s.StartsWith)
	case f.rule == ruleOpen:
		return "the policy is open: anyone may take the floor"
	case f.Speaker == "":
		return "there is no participant"
	case s.HasParticipant(s.LastSpeaker):
		return fmt.Sprintf("%s comes after %s", f.Speaker, s.LastSpeaker)
	}
	return fmt.Sprintf("%s is the first participant", f.Speaker)
}

// tried gives the rules up to the one that decided.
func (s *State) tried(f Floor) []parley.RuleTried {
	rules := []parley.RuleTried{{Rule: "closed", Because: "the conversation is active"}}
	pass := func(rule, because string) {
		rules = append(rules, parley.RuleTried{Rule: rule, Because: because})
	}
	if f.rule != ruleOpenTurn {
		pass(ruleOpenTurn, "no turn is open")
	}
	if f.rule != ruleOpenTurn && f.rule != ruleStartsWith {
		pass(ruleStartsWith, s.whyNotStart())
	}
	return append(rules, parley.RuleTried{Rule: f.rule, Decided: true, Because: s.because(f)})
}

func (s *State) whyNotStart() string {
	if s.LastSpeaker != "" {
		return fmt.Sprintf("%s has spoken", s.LastSpeaker)
	}
	return "no first speaker was named"
}
