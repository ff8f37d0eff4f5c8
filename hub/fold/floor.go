package fold

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
)

// The rules that decide who has the floor, by their names in guidance. A choice of the policy has the kind of the
// policy as its name.
const (
	ruleApproval   = "approval"
	ruleOpenTurn   = "open_turn"
	ruleClaim      = "claim"
	ruleAutonomous = "max_autonomous_turns"
	rulePassed     = "all_passed"
	ruleStartsWith = "starts_with"
	ruleOpen       = "open"
	ruleModerator  = "moderator"
	ruleRoundRobin = "round_robin"
	ruleCallback   = "callback"
	ruleTriggers   = "triggers"
)

// Floor is the participant that may open the next turn or continue the open one. If Anyone is true, any participant
// may. If the turn waits for an approval and has no claim, no one may, and Speaker requested the approval.
type Floor struct {
	Speaker string
	Anyone  bool
	rule    string // that decided
	waits   bool   // no one may speak
}

// allows reports whether a participant may speak.
func (f Floor) allows(id string) bool { return !f.waits && (f.Anyone || f.Speaker == id) }

// Floor returns the floor. It is empty after the close. It is called for every append, so it explains nothing: see
// explainFloor.
func (s *State) Floor() Floor {
	if s.Closed() {
		return Floor{}
	}
	if s.Claim == nil {
		if a := s.pendingApproval(s.CurrentTurn()); a != nil {
			return Floor{Speaker: a.AgentID, rule: ruleApproval, waits: true}
		}
	}
	switch {
	case s.Open:
		return Floor{Speaker: s.Owner, rule: ruleOpenTurn}
	case s.Claim != nil:
		return Floor{Speaker: s.Claim.AgentID, rule: ruleClaim}
	case allPassed(s):
		return Floor{Anyone: true, rule: rulePassed}
	case needsHuman(s):
		return Floor{Speaker: nextOwner(s, parley.KindHuman), rule: ruleAutonomous}
	case s.CallbackFor != "" && s.HasParticipant(s.CallbackFor):
		return Floor{Speaker: s.CallbackFor, rule: ruleCallback}
	case s.LastOwner == "" && s.StartsWith != "":
		return Floor{Speaker: s.StartsWith, rule: ruleStartsWith}
	case s.Policy.Kind == parley.PolicyOpen:
		return Floor{Anyone: true, rule: ruleOpen}
	case s.Policy.Kind == parley.PolicyTriggers:
		return triggersFloor(s)
	case s.LastOwner == "" && s.Policy.Kind == parley.PolicyModerator:
		return Floor{Speaker: s.Policy.Moderator, rule: ruleModerator}
	}
	if c := s.Choice.Get(); c.Next != "" {
		return Floor{Speaker: c.Next, rule: c.Rule}
	}
	return Floor{Speaker: nextOwner(s, ""), rule: ruleRoundRobin}
}

// MaySpeak reports whether the guidance of id is may_speak. Then a message of id is accepted if it names the current
// claim, if there is one.
func (s *State) MaySpeak(id string) bool {
	return !s.Closed() && s.HasParticipant(id) && s.Floor().allows(id)
}

// triggersFloor returns the floor under the policy triggers. The agent of the first match has it, or else the next
// person or peer. Without these anyone may speak, and no one is asked to: agents and tools speak only for a match.
func triggersFloor(s *State) Floor {
	if m := s.firstMatch(); m != nil {
		return Floor{Speaker: m.AgentID, rule: ruleTriggers}
	}
	if p := nextPerson(s); p != "" {
		return Floor{Speaker: p, rule: ruleTriggers}
	}
	return Floor{Anyone: true, rule: ruleTriggers}
}

// needsHuman reports whether a human must speak before any other participant does.
func needsHuman(s *State) bool {
	limit := s.Limits.MaxAutonomousTurns
	return limit > 0 && s.Autonomous >= limit && s.hasKind(parley.KindHuman)
}

// allPassed reports whether all participants that may have the floor have passed since the last message.
func allPassed(s *State) bool {
	if len(s.Passed) == 0 {
		return false
	}
	human := needsHuman(s)
	if s.Policy.Kind == parley.PolicyTriggers && !human {
		return s.firstMatch() == nil && nextPerson(s) == "" && slices.ContainsFunc(s.Participants, isPerson)
	}
	return !slices.ContainsFunc(s.Participants, func(p parley.Participant) bool {
		return (!human || p.Kind == parley.KindHuman) && !slices.Contains(s.Passed, p.ID)
	})
}

// isPerson reports whether a participant is a person or peer. They speak without a match.
func isPerson(p parley.Participant) bool { return !p.Kind.Claims() }

// nextPerson returns the person or peer after the last one that had a turn.
func nextPerson(s *State) string { return nextSpeaker(s, s.LastPerson, isPerson) }

// nextOwner returns the participant after the last one that had a turn. A kind restricts it to participants of that
// kind.
func nextOwner(s *State, kind parley.ParticipantKind) string {
	return nextSpeaker(s, s.LastOwner, func(p parley.Participant) bool { return kind == "" || p.Kind == kind })
}

// nextSpeaker returns the first participant after last that is wanted and has not passed. Without last it begins at the
// first participant. It returns an empty string if there is no such participant.
func nextSpeaker(s *State, last string, wanted func(parley.Participant) bool) string {
	n := len(s.Participants)
	seat := s.Seat(last) // -1 before the first turn
	for i := range n {
		if p := s.Participants[(seat+1+i)%n]; wanted(p) && !slices.Contains(s.Passed, p.ID) {
			return p.ID
		}
	}
	return ""
}

// chooseAfterMessage returns the choice of the policy after a turn that e ended.
func chooseAfterMessage(s *State, e *parley.Event) *policyChoice {
	switch s.Policy.Kind {
	case parley.PolicyAddressed, parley.PolicyRules, parley.PolicyModerator:
		ended := policyInput(s, e)
		return &policyChoice{ended: &ended}
	}
	return nil
}

// chooseAfterPass returns the choice of the policy after a turn that ended without a message.
func chooseAfterPass(s *State, passed string) *policyChoice {
	found := policy.Choice{Because: fmt.Sprintf("%s has passed", passed)}
	switch s.Policy.Kind {
	case parley.PolicyModerator:
		if m := s.Policy.Moderator; !slices.Contains(s.Passed, m) && s.HasParticipant(m) {
			found = policy.Choice{Next: m, Rule: ruleModerator, Because: fmt.Sprintf(
				"%s passed, and the floor returns to the moderator", passed)}
		}
	case parley.PolicyAddressed, parley.PolicyRules:
	default:
		return nil
	}
	return &policyChoice{found: found}
}

// policyInput returns the data from which policies and stopWhen decide.
func policyInput(s *State, e *parley.Event) policy.Ended {
	counts := make([]int64, len(s.Activities))
	for i := range s.Activities {
		counts[i] = s.Activities[i].Turns
	}
	ended := policy.Ended{
		Policy: s.Policy, Seats: s.Participants, From: e.From, Turn: e.Turn, Turns: s.Turns, Autonomous: s.Autonomous,
		Counts: counts, Payload: e.Payload,
	}
	if e.TurnHint != nil {
		ended.Hint = e.TurnHint.Next
	}
	return ended
}

// policyChoice is the choice of the policy at the end of a turn. It is computed when it is first needed, because a
// replay of a log needs the last one only.
type policyChoice struct {
	mu    sync.Mutex // guards the fields below
	ended *policy.Ended
	found policy.Choice
}

// Get returns the choice. It is empty for nil.
func (c *policyChoice) Get() policy.Choice {
	if c == nil {
		return policy.Choice{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		c.found, c.ended = policy.Next(c.ended), nil
	}
	return c.found
}

// GobEncode encodes the choice.
func (c *policyChoice) GobEncode() ([]byte, error) { return json.Marshal(c.Get()) }

// GobDecode decodes it.
func (c *policyChoice) GobDecode(b []byte) error { return json.Unmarshal(b, &c.found) }

// Equal compares choices.
func (c *policyChoice) Equal(o *policyChoice) bool { return c.Get() == o.Get() }
