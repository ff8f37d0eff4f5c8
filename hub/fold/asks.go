package fold

import (
	"cmp"
	"slices"

	"github.com/parleyhub/parley"
)

// Ask is a participant whose turn it is without a claim: who may be asked to take it, and what time limit runs.
type Ask struct {
	AgentID string
	Agent   string
	// Serves is what an executor serves that is asked: see State.ServedBy. Demands are labels that it has.
	Serves  string
	Demands map[string]string
	Place   parley.ExecutorPlace
	Turn    int64
	// Since is the seq from which its time counts: an event that gave the floor, ended the last claim, or offered the turn anew.
	Since int64
	// Offer is true when executors may be offered the turn.
	Offer    bool
	Attempts int
	Ended    []ExecutorEnds
	// ExecutorID had its last claim.
	ExecutorID string
	// SinceSeq is the seq of the message with which it has last ended a turn.
	SinceSeq int64
	// DelayMs is how long it is not asked at first, so that others come before it.
	DelayMs int64
	// TimeoutMs is how long it may be so; 0 is for ever.
	TimeoutMs int64
	// Patient is true when that time does not run while an executor is there that has no room.
	Patient bool
}

// maxReofferMs is the longest interval at which a turn is offered anew.
const maxReofferMs = 3600 * 1000

// Asks gives who is asked to speak in the current turn. It is empty while a claim stands or the turn waits for an approval, which has a time of its own, and after close.
func (s *State) Asks() []Ask {
	if s.Closed() || !s.Exists() || s.Claim != nil {
		return nil
	}
	if s.CallbackRecipient() != "" {
		return nil // the hub has something to say first
	}
	f := s.floor()
	switch {
	case f.rule == rulePassed, f.Anyone && f.rule == ruleTriggers, f.waits:
		return nil
	case !f.Anyone:
		return s.askOne(f)
	}
	var asks []Ask
	for i, p := range s.Participants {
		if p.Kind.Claims() && p.ID != s.LastSpeaker && !slices.Contains(s.Passed, p.ID) {
			asks = append(asks, s.askOpen(i))
		}
	}
	return s.setDelays(asks)
}

// Where anyone may speak, agents are asked the longest silent first, one openStepMs after the other, and all openPersonMs later where somebody takes
// part who is no agent: else those that answer at once would shut out everybody else.
const (
	openStepMs   = 100
	openPersonMs = 500
)

func (s *State) setDelays(asks []Ask) []Ask {
	slices.SortStableFunc(asks, func(a, b Ask) int { return cmp.Compare(a.SinceSeq, b.SinceSeq) })
	first := int64(0)
	if slices.ContainsFunc(s.Participants, func(p parley.Participant) bool { return !p.Kind.Claims() }) {
		first = openPersonMs
	}
	for i := range asks {
		asks[i].DelayMs = first + int64(i)*openStepMs
	}
	return asks
}

// askOne is for a floor that belongs to one participant.
func (s *State) askOne(f Floor) []Ask {
	seat := s.Seat(f.Speaker)
	if seat < 0 {
		return nil
	}
	a := s.newAsk(seat)
	switch {
	case a.Offer || s.Participants[seat].Kind.Claims():
		a.TimeoutMs = s.turnTimeout(a.AgentID)
	case s.Limits.TurnTimeoutMs == 0, slices.Contains(s.Passed, a.AgentID):
		return nil // people and peers have all the time that they were not told to have
	default:
		a.TimeoutMs = s.turnTimeout(a.AgentID)
	}
	return []Ask{a}
}

// askOpen is for a floor that anyone may take: there is no hurry until the attempts of an agent are used up.
func (s *State) askOpen(seat int) Ask {
	a := s.newAsk(seat)
	if !a.Offer {
		a.TimeoutMs = s.turnTimeout(a.AgentID)
	}
	return a
}

func (s *State) newAsk(seat int) Ask {
	p := s.Participants[seat]
	t := s.triesOf(p.ID)
	a := Ask{
		AgentID: p.ID, Agent: AgentName(p), Serves: s.ServedBy(seat), Place: p.Executor, Turn: s.CurrentTurn(), Since: max(s.FloorSeq, s.SeatSeqs[seat], t.Since),
		Offer: p.Kind.Claims() && t.Attempts < s.Limits.Attempts(), Attempts: t.Attempts, Ended: t.Ended,
		ExecutorID: s.Activities[seat].ExecutorID, SinceSeq: s.Activities[seat].FinalSeq,
	}
	if r := s.Session; r != nil && r.AgentID == p.ID {
		a.Patient, a.Demands = true, s.Demands(seat)
	}
	return a
}

// Demands are labels that an executor must have to take the turns of a seat. A runner to which a session belongs has them.
func (s *State) Demands(seat int) map[string]string {
	if r := s.Session; r != nil && r.Runner == nil && r.AgentID == s.Participants[seat].ID {
		return r.Demands
	}
	return nil
}

// AgentName is the name of the agent that sits on a seat.
func AgentName(p parley.Participant) string {
	if p.Agent != "" {
		return p.Agent
	}
	return p.ID
}

// timeout is how long an agent's turn may be without a claim: when it is offered anew, twice as long each time.
func (s *State) turnTimeout(agent string) int64 {
	limit := s.Limits.TurnTimeout()
	if s.Session != nil && agent == s.Session.AgentID {
		return parley.SessionQueueMs
	}
	if s.Limits.AtTurnTimeout() != parley.TurnReoffer {
		return limit
	}
	for range s.triesOf(agent).Reoffers {
		if limit >= maxReofferMs {
			break
		}
		limit *= 2
	}
	return max(min(limit, maxReofferMs), s.Limits.TurnTimeout())
}
