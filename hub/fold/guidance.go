package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
)

// Guidance returns the guidance of a participant. Other callers are to wait.
func (s *State) Guidance(id string, explain bool) parley.Guidance {
	g := parley.Guidance{Turn: s.CurrentTurn()}
	if s.Closed() {
		return s.closedGuidance(g, explain)
	}
	due, _ := s.due()
	g.DeadlineMs = int64(due)
	f := s.floor()
	g.Speaker = f.Speaker
	g.Claim = s.ClaimState()
	g.Kind = parley.Wait
	g.Reason = s.explainFloor(f) + "."
	if explain {
		g.Rules = s.listRules(f)
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
	case f.holds(id):
		g.Kind, g.Action = parley.MaySpeak, parley.StartTurn
		if s.Open {
			g.Action = parley.ContinueTurn
		}
	}
	return g
}

// ClaimState returns the current claim, or nil. If its turn waits for approvals that are not
// resolved, the claim ends its usual time after the last one expires.
func (s *State) ClaimState() *parley.ClaimState {
	c := s.Claim
	if c == nil {
		return nil
	}
	state := &parley.ClaimState{
		AgentID: c.AgentID, ExecutorID: c.ExecutorID, Attempt: c.Attempt, DeadlineMs: int64(c.RenewedAt) + c.DurationMs,
	}
	if s.AwaitsApproval() {
		state.DeadlineMs = int64(s.suspendedUntil())
	}
	return state
}

func (s *State) closedGuidance(g parley.Guidance, explain bool) parley.Guidance {
	g.Kind = parley.Closed
	because := fmt.Sprintf("the conversation is closed: %s", s.Outcome.Status)
	if s.Outcome.Reason != "" {
		because += fmt.Sprintf(" (%s)", s.Outcome.Reason)
	}
	g.Reason = because + "."
	if explain {
		g.Rules = []parley.RuleTried{{Rule: "closed", Decided: true, Because: because}}
	}
	return g
}

// Stand is the part of a state on which guidance depends, except deadlines. The guidance of a
// participant changes only if the Stand does.
type GuidanceInputs struct {
	status       parley.Status
	turn         int64
	open         bool
	owner        string
	lastHad      string
	passed       int
	attempts     int
	autonomous   int64
	choice       policy.Choice
	claim        eventdata.ClaimHash
	participants int
	callbackFor  string
	children     int
	awaits       bool
	// woken is the number of matches that wait for a turn, and wokenBy the event of the first.
	woken   int
	wokenBy int64
}

// Stand returns the state's Stand.
func (s *State) GuidanceInputs() GuidanceInputs {
	stand := GuidanceInputs{
		status: s.Status, turn: s.Turn, open: s.Open, owner: s.Owner, lastHad: s.LastOwner, passed: len(s.Passed),
		autonomous: s.Autonomous, choice: s.Choice.Get(), participants: len(s.Participants),
		callbackFor: s.CallbackFor, children: len(s.Children), awaits: s.AwaitsApproval(),
	}
	if s.Claim != nil {
		stand.claim = s.Claim.Hash
	}
	if w := s.firstMatch(); w != nil {
		stand.woken, stand.wokenBy = len(s.Matches), w.Seq
	}
	for _, t := range s.Tries {
		stand.attempts += t.Attempts
	}
	return stand
}

// MaySpeak reports whether the guidance of id is may_speak: a message of id that names the current
// claim, if there is one, would be accepted.
func (s *State) MaySpeak(id string) bool {
	if s.Closed() || !s.HasParticipant(id) {
		return false
	}
	f := s.floor()
	return f.holds(id)
}
