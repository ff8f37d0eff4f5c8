package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
)

// Guidance tells a participant where it stands. One who does not take part is told to wait.
func (s *State) Guidance(id string, explain bool) parley.Guidance {
	g := parley.Guidance{Turn: s.CurrentTurn()}
	if s.Closed() {
		return s.closedGuidance(g, explain)
	}
	due, _ := s.Due()
	g.DeadlineMs = int64(due)
	f := s.floor()
	g.Speaker = f.Speaker
	g.Claim = s.ClaimState()
	g.Kind = parley.Wait
	g.Reason = s.because(f) + "."
	if explain {
		g.Rules = s.tried(f)
	}
	switch {
	case !s.HasParticipant(id):
		g.Reason = "You do not take part; " + g.Reason
		if explain {
			g.Rules[len(g.Rules)-1].Decided = false
			g.Rules = append(g.Rules, parley.RuleTried{Rule: "participant", Decided: true, Because: fmt.Sprintf("%s does not take part", id)})
		}
	case f.holds(id):
		g.Kind, g.Action = parley.MaySpeak, parley.StartTurn
		if s.Open {
			g.Action = parley.ContinueTurn
		}
	}
	return g
}

// ClaimState tells of the claim that stands; nil when none does. One whose turn waits for approvals ends, unless these are resolved before, when the last of them
// is over and it has had its time again.
func (s *State) ClaimState() *parley.ClaimState {
	c := s.Claim
	if c == nil {
		return nil
	}
	state := &parley.ClaimState{AgentID: c.AgentID, ExecutorID: c.ExecutorID, Attempt: c.Attempt, DeadlineMs: int64(c.RenewedAt) + c.DurationMs}
	if s.Awaits() {
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

// Stand is the part of a state on which guidance depends, but for deadlines. Guidance of a participant can have changed only when
// the Stand has.
type Stand struct {
	Status       parley.Status
	Turn         int64
	Open         bool
	Owner        string
	LastHad      string
	Passed       int
	Attempts     int
	Autonomous   int64
	Choice       policy.Choice
	Claim        eventdata.ClaimHash
	Participants int
	CallbackFor  string
	Children     int
	Awaits       bool
	// Woken are how many matches wait for a turn, and WokenBy the event of the first.
	Woken   int
	WokenBy int64
}

// Stand gives the state's Stand.
func (s *State) Stand() Stand {
	stand := Stand{
		Status: s.Status, Turn: s.Turn, Open: s.Open, Owner: s.Owner, LastHad: s.LastHad, Passed: len(s.Passed), Autonomous: s.Autonomous,
		Choice: s.Choice.Get(), Participants: len(s.Participants), CallbackFor: s.CallbackFor, Children: len(s.Children), Awaits: s.Awaits(),
	}
	if s.Claim != nil {
		stand.Claim = s.Claim.Hash
	}
	if w := s.firstWoken(); w != nil {
		stand.Woken, stand.WokenBy = len(s.Woken), w.Seq
	}
	for _, t := range s.Tries {
		stand.Attempts += t.Attempts
	}
	return stand
}

// MaySpeak reports whether a message of id would be taken that names the claim, if one stands: guidance says may_speak.
func (s *State) MaySpeak(id string) bool {
	if s.Closed() || !s.HasParticipant(id) {
		return false
	}
	f := s.floor()
	return f.holds(id)
}
