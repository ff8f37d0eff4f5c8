package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
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

// Stand is the part of a state on which guidance depends, but for DeadlineMs. Guidance of a participant can have changed only when
// the Stand has.
type Stand struct {
	Status       parley.Status
	Turn         int64
	Open         bool
	Owner        string
	LastSpeaker  string
	Participants int
}

// Stand gives the state's Stand.
func (s *State) Stand() Stand {
	return Stand{s.Status, s.Turn, s.Open, s.Owner, s.LastSpeaker, len(s.Participants)}
}

// MaySpeak reports whether a message of id would be taken: guidance says may_speak.
func (s *State) MaySpeak(id string) bool {
	if s.Closed() || !s.HasParticipant(id) {
		return false
	}
	f := s.floor()
	return f.holds(id)
}
