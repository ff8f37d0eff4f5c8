package fold

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
)

// The rules that find who has the floor, by the names that guidance gives them. A choice of the policy has the policy's kind for a name.
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

// Floor says who may open the next turn, or continue the open one. Anyone is true when any participant may. Nobody may while the turn waits for an approval and no
// claim stands: then Speaker is who has asked for it.
type Floor struct {
	Speaker string
	Anyone  bool
	rule    string // that decided
	waits   bool   // nobody may speak
}

// floor finds who has the floor of an active conversation. It is asked for every append, so it explains nothing: see because
// and tried.
func (s *State) floor() Floor {
	switch {
	case s.Claim == nil && s.AwaitsApproval():
		return Floor{Speaker: s.pendingApproval().AgentID, rule: ruleApproval, waits: true}
	case s.Open:
		return Floor{Speaker: s.Owner, rule: ruleOpenTurn}
	case s.Claim != nil:
		return Floor{Speaker: s.Claim.AgentID, rule: ruleClaim}
	}
	return s.nextFloor()
}

// Floor says who may speak.
func (s *State) Floor() Floor {
	if s.Closed() || !s.Exists() {
		return Floor{}
	}
	return s.floor()
}

// next finds who may open the next turn.
func (s *State) nextFloor() Floor {
	switch {
	case s.allPassed():
		return Floor{Anyone: true, rule: rulePassed}
	case s.needsHuman():
		return Floor{Speaker: s.nextOwner(parley.KindHuman), rule: ruleAutonomous}
	case s.CallbackFor != "" && s.HasParticipant(s.CallbackFor):
		return Floor{Speaker: s.CallbackFor, rule: ruleCallback}
	case s.LastOwner == "" && s.StartsWith != "":
		return Floor{Speaker: s.StartsWith, rule: ruleStartsWith}
	case s.Policy.Kind == parley.PolicyOpen:
		return Floor{Anyone: true, rule: ruleOpen}
	case s.Policy.Kind == parley.PolicyTriggers:
		return s.floorOfTriggers()
	case s.LastOwner == "" && s.Policy.Kind == parley.PolicyModerator:
		return Floor{Speaker: s.Policy.Moderator, rule: ruleModerator}
	}
	if c := s.Choice.Get(); c.Next != "" {
		return Floor{Speaker: c.Next, rule: c.Rule}
	}
	return Floor{Speaker: s.nextOwner(""), rule: ruleRoundRobin}
}

// humansOnly reports whether a human must speak before anybody else does.
func (s *State) needsHuman() bool {
	limit := s.Limits.MaxAutonomousTurns
	return limit > 0 && s.Autonomous >= limit && s.hasKind(parley.KindHuman)
}

func (s *State) hasKind(k parley.ParticipantKind) bool {
	return slices.ContainsFunc(s.Participants, func(p parley.Participant) bool { return p.Kind == k })
}

// allPassed reports whether everybody has let its turn go by since the last message.
func (s *State) allPassed() bool {
	if len(s.Passed) == 0 {
		return false
	}
	if s.Policy.Kind == parley.PolicyTriggers && !s.needsHuman() {
		return s.firstMatch() == nil && s.nextPerson() == "" && slices.ContainsFunc(s.Participants, isPerson)
	}
	return !slices.ContainsFunc(s.Participants, func(p parley.Participant) bool {
		return (!s.needsHuman() || p.Kind == parley.KindHuman) && !slices.Contains(s.Passed, p.ID)
	})
}

// afterLast is the participant, of a kind if one is given, after the one who had the last turn, or the first, of those who have not passed; empty only
// where there is none.
func (s *State) nextOwner(kind parley.ParticipantKind) string {
	return s.nextSpeaker(s.LastOwner, func(p parley.Participant) bool { return kind == "" || p.Kind == kind })
}

// after is the first of those wanted after a participant, or after none, who have not passed; empty where there is none.
func (s *State) nextSpeaker(id string, wanted func(parley.Participant) bool) string {
	n := len(s.Participants)
	last := s.Seat(id) // -1 before anybody has had a turn
	for i := range n {
		if p := s.Participants[(last+1+i)%n]; wanted(p) && !slices.Contains(s.Passed, p.ID) {
			return p.ID
		}
	}
	return ""
}

// afterMessage is what the policy finds when a turn has ended with e.
func (s *State) chooseAfterMessage(e *parley.Event) *policyChoice {
	switch s.Policy.Kind {
	case parley.PolicyAddressed, parley.PolicyRules, parley.PolicyModerator:
		ended := s.policyInput(e)
		return &policyChoice{ended: &ended}
	}
	return nil
}

// afterPass is what the policy finds when a turn has ended without a message.
func (s *State) chooseAfterPass(who string) *policyChoice {
	switch s.Policy.Kind {
	case parley.PolicyModerator:
		if !slices.Contains(s.Passed, s.Policy.Moderator) && s.Seat(s.Policy.Moderator) >= 0 {
			return &policyChoice{found: policy.Choice{Next: s.Policy.Moderator, Rule: ruleModerator, Because: fmt.Sprintf("%s has passed, and the floor goes back to the moderator", who)}}
		}
	case parley.PolicyAddressed, parley.PolicyRules:
	default:
		return nil
	}
	return &policyChoice{found: policy.Choice{Because: fmt.Sprintf("%s has passed", who)}}
}

// ended is what policies and stopWhen look at.
func (s *State) policyInput(e *parley.Event) policy.Ended {
	counts := make([]int64, len(s.Activities))
	for i := range s.Activities {
		counts[i] = s.Activities[i].Turns
	}
	ended := policy.Ended{
		Policy: s.Policy, Seats: s.Participants, From: e.From, Turn: e.Turn, Turns: s.Turns, Autonomous: s.Autonomous, Counts: counts, Payload: e.Payload,
	}
	if e.TurnHint != nil {
		ended.Hint = e.TurnHint.Next
	}
	return ended
}

func (f Floor) holds(id string) bool { return !f.waits && (f.Anyone || f.Speaker == id) }

// because says why the rule that decided gave the floor so, as a sentence without a full stop.
func (s *State) explainFloor(f Floor) string {
	switch f.rule {
	case ruleApproval:
		return fmt.Sprintf("turn %d of %s waits for an approval", s.CurrentTurn(), f.Speaker)
	case ruleOpenTurn:
		return fmt.Sprintf("turn %d is open and belongs to %s%s", s.Turn, s.Owner, s.approvalSuffix(", and"))
	case ruleClaim:
		return fmt.Sprintf("%s has claimed turn %d%s", f.Speaker, s.CurrentTurn(), s.approvalSuffix(", which"))
	case rulePassed:
		return "everybody has passed since the last message: anyone may take the floor, and nobody is asked to"
	case ruleAutonomous:
		return fmt.Sprintf("%d turns have ended without a human: it is %s's", s.Autonomous, f.Speaker)
	case ruleCallback:
		return fmt.Sprintf("%s was told that sessions it has started have ended", s.CallbackFor)
	case ruleStartsWith:
		return fmt.Sprintf("the conversation starts with %s", s.StartsWith)
	case ruleTriggers:
		return s.explainTriggers(f)
	case ruleOpen:
		return "the policy is open: anyone may take the floor"
	case ruleRoundRobin:
		return s.explainRoundRobin(f)
	case ruleModerator:
		if s.LastOwner == "" {
			return fmt.Sprintf("%s is the moderator", f.Speaker)
		}
	}
	return s.Choice.Get().Because
}

// andWaits goes on where the turn of a claim that stands waits for an approval.
func (s *State) approvalSuffix(with string) string {
	if s.AwaitsApproval() {
		return with + " waits for an approval"
	}
	return ""
}

func (s *State) explainRoundRobin(f Floor) string {
	why := ""
	if s.Choice.Get().Because != "" {
		why = s.Choice.Get().Because + ": "
	}
	switch {
	case f.Speaker == "":
		return "there is no participant"
	case s.HasParticipant(s.LastOwner):
		return fmt.Sprintf("%s%s comes after %s", why, f.Speaker, s.LastOwner)
	}
	return fmt.Sprintf("%s%s is the first participant", why, f.Speaker)
}

// tried gives the rules up to the one that decided.
func (s *State) listRules(f Floor) []parley.RuleTried {
	rules := []parley.RuleTried{{Rule: "closed", Because: "the conversation is active"}}
	for _, r := range []struct {
		rule    string
		because string
	}{
		{ruleApproval, s.whyNotApproval()},
		{ruleOpenTurn, "no turn is open"},
		{ruleClaim, "no claim stands"},
		{rulePassed, "not everybody has passed since the last message"},
		{ruleAutonomous, s.whyNotHuman()},
		{ruleCallback, s.whyNotCallback()},
		{ruleStartsWith, s.whyNotStart()},
		{string(s.Policy.Kind), s.whyNotPolicy()},
	} {
		if r.rule == f.rule {
			break
		}
		if r.because != "" {
			rules = append(rules, parley.RuleTried{Rule: r.rule, Because: r.because})
		}
	}
	return append(rules, parley.RuleTried{Rule: f.rule, Decided: true, Because: s.explainFloor(f)})
}

// whyNotApproval is empty where no approval was ever asked for, as far as this is still known.
func (s *State) whyNotApproval() string {
	switch {
	case len(s.Approvals) == 0:
		return ""
	case s.AwaitsApproval():
		return "the claim of who waits for an approval stands"
	}
	return "no approval is pending"
}

// whyNotHuman is empty where that rule is none of the conversation's.
func (s *State) whyNotHuman() string {
	if s.Limits.MaxAutonomousTurns == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d turns have ended without a human", s.Autonomous, s.Limits.MaxAutonomousTurns)
}

// whyNotCallback is empty where no session was ever started, as far as this is still known.
func (s *State) whyNotCallback() string {
	if len(s.Children) == 0 && len(s.Callbacks) == 0 {
		return ""
	}
	return "no end of a session was told since the last turn"
}

func (s *State) whyNotStart() string {
	if s.LastOwner != "" {
		return fmt.Sprintf("%s has had a turn", s.LastOwner)
	}
	return "no first speaker was named"
}

// whyNotPolicy is empty for the policies that always find somebody.
func (s *State) whyNotPolicy() string {
	switch s.Policy.Kind {
	case parley.PolicyAddressed, parley.PolicyRules, parley.PolicyModerator:
		if s.Choice.Get().Because == "" {
			return "no turn has ended yet"
		}
		return s.Choice.Get().Because
	}
	return ""
}

// Chosen is what the policy finds when a turn has ended. It is looked for when it is first asked for: who reads a log again asks for the last one only.
type policyChoice struct {
	mu    sync.Mutex // guards the fields below
	ended *policy.Ended
	found policy.Choice
}

// Get gives the choice; nil has none.
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

// GobEncode writes what was found.
func (c *policyChoice) GobEncode() ([]byte, error) { return json.Marshal(c.Get()) }

// GobDecode reads it.
func (c *policyChoice) GobDecode(b []byte) error { return json.Unmarshal(b, &c.found) }

// Equal reports whether the same was found.
func (c *policyChoice) Equal(o *policyChoice) bool { return c.Get() == o.Get() }
