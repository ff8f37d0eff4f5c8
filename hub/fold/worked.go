package fold

import (
	"slices"

	"github.com/parleyhub/parley"
)

// Worked is a turn that was claimed and has ended.
type EndedTurn struct {
	Turn    int64
	AgentID string
	// Agent is the name of the agent that sits there.
	Agent string
	// Attempts counts its claims.
	Attempts int
	// Outcome is how it ended: final, closed, or one of the ends of turns.
	Outcome string
	// Traceparent is that of the event that it answers. From is when that began the turn, and To when
	// the turn ended.
	Traceparent string
	From, To    parley.Timestamp
	// Seq is the event that ended it.
	Seq int64
}

// The outcomes of turns beside parley.TurnEnd.
const (
	TurnFinal = "final"
	// workedClosed is for turns that the hub ended with the conversation. workedCallback is for open
	// turns that a callback of the hub ended.
	turnClosed   = "closed"
	turnCallback = "callback"
)

// hubOutcome returns the outcome of a turn that a message of the hub ends.
func hubOutcome(e *parley.Event) string {
	if e.Finality == parley.FinalityTurn {
		return turnCallback
	}
	return turnClosed
}

// Answers returns the traceparent of the event that a turn of an agent answers. This is the first
// event that triggered the agent, else the message before the turn or the first event of the log.
// It does not change during the turn.
func (s *State) AnsweredTraceparent(agentID string) string {
	for i := range s.Matches {
		if w := &s.Matches[i]; s.isGiven(w, agentID, s.Claim) {
			return w.Traceparent
		}
	}
	return s.Traceparent
}

// begins records the event that the next turn answers, if that turn begins after e. If e only
// reports the end of a turn, the next turn answers the same event.
func (s *State) startNextTurn(e *parley.Event) {
	if s.FloorAt = e.At; e.From != parley.HubID || e.Traceparent != "" {
		s.Traceparent = e.Traceparent
	}
}

// beginsAnew records that e is the event that all later turns answer. The log before it belongs to
// another conversation and to other spans.
func (s *State) restartTrace(e *parley.Event) {
	s.FloorAt, s.Traceparent, s.EndedTurn = e.At, e.Traceparent, nil
	s.WakeEvent.Traceparent = e.Traceparent
	s.Matches = slices.Clone(s.Matches)
	for i := range s.Matches {
		s.Matches[i].Traceparent = e.Traceparent
	}
}

// worked records the turn that e ends, if it was claimed. The state is the one before e. It is
// called for every turn, so it allocates nothing for other turns.
func (s *State) recordEndedTurn(e *parley.Event, outcome string) {
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
	s.EndedTurn = &EndedTurn{
		Turn: s.CurrentTurn(), AgentID: who, Agent: AgentName(s.Participants[seat]), Attempts: attempts, Outcome: outcome,
		Traceparent: s.AnsweredTraceparent(who), From: s.FloorAt, To: e.At, Seq: e.Seq,
	}
}
