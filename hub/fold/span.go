package fold

import "github.com/parleyhub/parley"

// TurnSpans is the data from which the hub makes the spans of turns.
type TurnSpans struct {
	// Traceparent is that of the event that the current turn answers: a message, or the first event of the log.
	Traceparent string
	// FloorAt is the time at which the last turn ended.
	FloorAt parley.Timestamp
	// EndedTurn is the last claimed turn that ended, or nil.
	EndedTurn *EndedTurn
}

// EndedTurn is a claimed turn that ended.
type EndedTurn struct {
	Turn    int64
	AgentID string
	// Agent is the name of the agent.
	Agent string
	// Attempts counts its claims.
	Attempts int
	// Outcome is how it ended: one of the outcomes below, or a parley.TurnEnd.
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
	// turnClosed is for turns that the hub ended with the conversation. turnCallback is for open
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

// startNextTurn records the event that the next turn answers, if that turn begins after e. If e only
// reports the end of a turn, the next turn answers the same event.
func (t *TurnSpans) startNextTurn(e *parley.Event) {
	if t.FloorAt = e.At; e.From != parley.HubID || e.Traceparent != "" {
		t.Traceparent = e.Traceparent
	}
}

// AnsweredTraceparent returns the traceparent of the event that a turn of an agent answers. This is
// the first event that triggered the agent, else the message before the turn or the first event of
// the log. It does not change during the turn.
func (s *State) AnsweredTraceparent(agentID string) string {
	for i := range s.Matches {
		if m := &s.Matches[i]; m.isGivenTo(agentID, s.Claim) {
			return m.Traceparent
		}
	}
	return s.Traceparent
}

// recordEndedTurn records the turn that e ends, if it was claimed. The state is the one before e. It
// is called for every turn, so it allocates nothing for other turns.
func recordEndedTurn(s *State, e *parley.Event, outcome string) {
	agent, attempts := "", 0
	for _, t := range s.Tries {
		if attempts += len(t.Used); len(t.Used) > 0 {
			agent = t.AgentID
		}
	}
	if s.Claim != nil {
		agent = s.Claim.AgentID
		attempts++
	}
	seat := s.Seat(agent)
	if attempts == 0 || seat < 0 {
		return
	}
	s.EndedTurn = &EndedTurn{
		Turn: s.CurrentTurn(), AgentID: agent, Agent: AgentName(s.Participants[seat]), Attempts: attempts, Outcome: outcome,
		Traceparent: s.AnsweredTraceparent(agent), From: s.FloorAt, To: e.At, Seq: e.Seq,
	}
}
