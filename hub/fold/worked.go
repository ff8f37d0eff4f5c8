package fold

import (
	"slices"

	"github.com/parleyhub/parley"
)

// Worked is a turn that was claimed and has ended.
type Worked struct {
	Turn    int64
	AgentID string
	// Agent is the name of the agent that sits there.
	Agent string
	// Attempts counts its claims.
	Attempts int
	// Outcome is how it has ended: final, closed, or one of the ends of turns.
	Outcome string
	// Traceparent is that of what it has answered, From when that gave the floor, and To when the turn has ended.
	Traceparent string
	From, To    parley.Timestamp
	// Seq is the event with which it has ended.
	Seq int64
}

// The outcomes of turns beside parley.TurnEnd.
const (
	WorkedFinal = "final"
	// workedClosed is for turns that the hub has ended with the conversation, and workedCallback for those that nobody had brought to an end when the hub told of a session.
	workedClosed   = "closed"
	workedCallback = "callback"
)

// byHub gives the outcome of a turn that a message of the hub ends.
func byHub(e *parley.Event) string {
	if e.Finality == parley.FinalityTurn {
		return workedCallback
	}
	return workedClosed
}

// Answers gives the traceparent of what a turn of an agent answers: of the first event that has woken it, else of the message, or the beginning of the log, that gave the floor. It does not
// change while the turn lasts.
func (s *State) Answers(agentID string) string {
	for i := range s.Woken {
		if w := &s.Woken[i]; s.isGiven(w, agentID, s.Claim) {
			return w.Traceparent
		}
	}
	return s.Traceparent
}

// begins keeps what a turn answers that begins after e. Where the hub only says that a turn has ended, the next one has the same to answer.
func (s *State) begins(e *parley.Event) {
	if s.FloorAt = e.At; e.From != parley.HubID || e.Traceparent != "" {
		s.Traceparent = e.Traceparent
	}
}

// beginsAnew keeps that everything which is to be answered now is e: the log before it is that of another conversation, and of other spans.
func (s *State) beginsAnew(e *parley.Event) {
	s.FloorAt, s.Traceparent, s.Worked = e.At, e.Traceparent, nil
	s.Waker.Traceparent = e.Traceparent
	s.Woken = slices.Clone(s.Woken)
	for i := range s.Woken {
		s.Woken[i].Traceparent = e.Traceparent
	}
}

// worked keeps the turn that e ends, if it was claimed. The state is the one before. It is asked for every turn, so nothing is made where none was.
func (s *State) worked(e *parley.Event, outcome string) {
	who, attempts := "", 0
	for _, t := range s.Tries {
		if attempts += len(t.Used); len(t.Used) > 0 {
			who = t.AgentID
		}
	}
	if s.Claim != nil {
		who = s.Claim.AgentID
		attempts++
	}
	seat := s.Seat(who)
	if attempts == 0 || seat < 0 {
		return
	}
	s.Worked = &Worked{
		Turn: s.CurrentTurn(), AgentID: who, Agent: AgentName(s.Participants[seat]), Attempts: attempts, Outcome: outcome,
		Traceparent: s.Answers(who), From: s.FloorAt, To: e.At, Seq: e.Seq,
	}
}
