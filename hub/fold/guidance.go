package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
)

// Guidance returns the guidance of a participant. Other callers are to wait.
func (s *State) Guidance(id string, explain bool) parley.Guidance {
	g := parley.Guidance{Turn: s.CurrentTurn(), Kind: parley.Wait}
	if s.Closed() {
		because := fmt.Sprintf("the conversation is closed: %s", s.Outcome.Status)
		if s.Outcome.Reason != "" {
			because += fmt.Sprintf(" (%s)", s.Outcome.Reason)
		}
		g.Kind, g.Reason = parley.Closed, because+"."
		if explain {
			g.Rules = []parley.RuleTried{{Rule: "closed", Decided: true, Because: because}}
		}
		return g
	}
	due, _ := s.closesAt()
	g.DeadlineMs = int64(due)
	f := s.Floor()
	g.Speaker = f.Speaker
	g.Claim = s.ClaimState()
	g.Reason = explainFloor(s, f) + "."
	if explain {
		g.Rules = listRules(s, f)
	}
	switch {
	case !s.HasParticipant(id):
		g.Reason = "You do not take part; " + g.Reason
		if explain {
			g.Rules[len(g.Rules)-1].Decided = false
			g.Rules = append(g.Rules, parley.RuleTried{
				Rule: "participant", Decided: true, Because: fmt.Sprintf("%s does not take part", id),
			})
		}
	case f.allows(id):
		g.Kind, g.Action = parley.MaySpeak, parley.StartTurn
		if s.Open {
			g.Action = parley.ContinueTurn
		}
	}
	return g
}

// ClaimState returns the current claim, or nil. If its turn waits for approvals that are not resolved, the claim ends
// its usual time after the last one expires.
func (s *State) ClaimState() *parley.ClaimState {
	c := s.Claim
	if c == nil {
		return nil
	}
	state := &parley.ClaimState{
		AgentID: c.AgentID, ExecutorID: c.ExecutorID, Attempt: c.Attempt, DeadlineMs: int64(c.RenewedAt) + c.DurationMs,
	}
	if s.AwaitsApproval() {
		state.DeadlineMs = int64(s.lastExpiry()) + s.Limits.TurnTimeout()
	}
	return state
}

// GuidanceInputs is the part of a state on which guidance depends, except deadlines. The guidance of a participant
// changes only if the GuidanceInputs do.
type GuidanceInputs struct {
	status       parley.Status
	turn         int64
	open         bool
	owner        string
	lastOwner    string
	passed       int
	attempts     int
	autonomous   int64
	choice       policy.Choice
	claim        eventdata.ClaimHash
	participants int
	callbackFor  string
	children     int
	awaits       bool
	// matches is the number of matches if one waits for a turn. firstMatch is the event of the first such match.
	matches    int
	firstMatch int64
}

// GuidanceInputs returns the GuidanceInputs of the state.
func (s *State) GuidanceInputs() GuidanceInputs {
	in := GuidanceInputs{
		status: s.Status, turn: s.Turn, open: s.Open, owner: s.Owner, lastOwner: s.LastOwner, passed: len(s.Passed),
		autonomous: s.Autonomous, choice: s.Choice.Get(), participants: len(s.Participants),
		callbackFor: s.CallbackFor, children: len(s.Children), awaits: s.AwaitsApproval(),
	}
	if s.Claim != nil {
		in.claim = s.Claim.Hash
	}
	if m := s.firstMatch(); m != nil {
		in.matches, in.firstMatch = len(s.Matches), m.Seq
	}
	for _, t := range s.Tries {
		in.attempts += t.Attempts
	}
	return in
}

// explainFloor returns the reason for the floor, as a sentence without a full stop.
func explainFloor(s *State, f Floor) string {
	wait := func(conjunction string) string {
		if s.AwaitsApproval() {
			return conjunction + " waits for an approval"
		}
		return ""
	}
	switch f.rule {
	case ruleApproval:
		return fmt.Sprintf("turn %d of %s waits for an approval", s.CurrentTurn(), f.Speaker)
	case ruleOpenTurn:
		return fmt.Sprintf("turn %d is open and belongs to %s%s", s.Turn, s.Owner, wait(", and"))
	case ruleClaim:
		return fmt.Sprintf("%s has claimed turn %d%s", f.Speaker, s.CurrentTurn(), wait(", which"))
	case rulePassed:
		return "everybody has passed since the last message: anyone may take the floor, and nobody is asked to"
	case ruleAutonomous:
		return fmt.Sprintf("%d turns have ended without a human: it is %s's", s.Autonomous, f.Speaker)
	case ruleCallback:
		return fmt.Sprintf("%s was told that sessions it has started have ended", s.CallbackFor)
	case ruleStartsWith:
		return fmt.Sprintf("the conversation starts with %s", s.StartsWith)
	case ruleTriggers:
		return explainTriggers(s, f)
	case ruleOpen:
		return "the policy is open: anyone may take the floor"
	case ruleRoundRobin:
		return explainRoundRobin(s, f)
	case ruleModerator:
		if s.LastOwner == "" {
			return fmt.Sprintf("%s is the moderator", f.Speaker)
		}
	}
	return s.Choice.Get().Because
}

func explainRoundRobin(s *State, f Floor) string {
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

func explainTriggers(s *State, f Floor) string {
	m := s.firstMatch()
	switch {
	case f.Anyone:
		return "nothing has woken an agent, and there is neither person nor peer: " +
			"anyone may take the floor, and nobody is asked to"
	case m == nil && s.LastPerson == "":
		return fmt.Sprintf("no agent is woken: %s is the first of the people and peers", f.Speaker)
	case m == nil && s.LastPerson == f.Speaker:
		return fmt.Sprintf("no agent is woken: it is %s's again", f.Speaker)
	case m == nil:
		return fmt.Sprintf("no agent is woken: of the people and peers, %s comes after %s", f.Speaker, s.LastPerson)
	}
	why := fmt.Sprintf("%s was woken by the message at seq %d", m.AgentID, m.Seq)
	if n := len(s.MatchesOf(m.AgentID, nil)) - 1; n > 0 {
		why += fmt.Sprintf(", and by %d more", n)
	}
	return why
}

// listRules returns the rules up to the one that decided. It omits rules that do not concern the conversation.
func listRules(s *State, f Floor) []parley.RuleTried {
	rules := []parley.RuleTried{{Rule: "closed", Because: "the conversation is active"}}
	for _, r := range []struct {
		rule    string
		because string
	}{
		{ruleApproval, explainNoApproval(s)},
		{ruleOpenTurn, "no turn is open"},
		{ruleClaim, "no claim is current"},
		{rulePassed, "not everybody has passed since the last message"},
		{ruleAutonomous, explainNoHuman(s)},
		{ruleCallback, explainNoCallback(s)},
		{ruleStartsWith, explainNoStart(s)},
		{string(s.Policy.Kind), explainNoChoice(s)},
	} {
		if r.rule == f.rule {
			break
		}
		if r.because != "" {
			rules = append(rules, parley.RuleTried{Rule: r.rule, Because: r.because})
		}
	}
	return append(rules, parley.RuleTried{Rule: f.rule, Decided: true, Because: explainFloor(s, f)})
}

func explainNoApproval(s *State) string {
	switch {
	case len(s.Approvals) == 0:
		return ""
	case s.AwaitsApproval():
		return "the claim of who waits for an approval stands"
	}
	return "no approval is pending"
}

func explainNoHuman(s *State) string {
	if s.Limits.MaxAutonomousTurns == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d turns have ended without a human", s.Autonomous, s.Limits.MaxAutonomousTurns)
}

func explainNoCallback(s *State) string {
	if len(s.Children) == 0 && len(s.Callbacks) == 0 {
		return ""
	}
	return "no end of a session was told since the last turn"
}

func explainNoStart(s *State) string {
	if s.LastOwner != "" {
		return fmt.Sprintf("%s has had a turn", s.LastOwner)
	}
	return "no first speaker was named"
}

// explainNoChoice returns an empty string for the policies that always choose a participant.
func explainNoChoice(s *State) string {
	switch s.Policy.Kind {
	case parley.PolicyAddressed, parley.PolicyRules, parley.PolicyModerator:
		if s.Choice.Get().Because == "" {
			return "no turn has ended yet"
		}
		return s.Choice.Get().Because
	}
	return ""
}
