package fold

import (
	"cmp"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Ask is a participant that has the floor and no claim: which executors may be offered its turn, and its time limit.
type Ask struct {
	AgentID string
	Agent   string
	// Serves is what an executor must serve to be offered the turn: see State.ServedBy. Demands are labels that it has.
	Serves  string
	Demands map[string]string
	Place   parley.ExecutorPlace
	Turn    int64
	// Since is the seq from which its time counts. That event decided the floor, ended the last claim, or offered the
	// turn again.
	Since int64
	// Offer is true if executors may be offered the turn.
	Offer    bool
	Attempts int
	Ended    []ExecutorEnds
	// ExecutorID is the executor of its last claim.
	ExecutorID string
	// SinceSeq is the seq of the last message with which it ended a turn.
	SinceSeq int64
	// DelayMs is the delay before its first offer, so that other agents are asked first.
	DelayMs int64
	// TimeoutMs is its time limit, or 0 if it has none.
	TimeoutMs int64
	// Patient is true if that time does not run while a matching executor is connected and has no free capacity.
	Patient bool
}

// maxReofferMs is the longest interval at which a turn is offered again.
const maxReofferMs = 3600 * 1000

// Asks returns the participants that may take the current turn. It is empty after the close and while a claim is
// current. It is also empty while the turn waits for an approval, because an approval has its own time limit.
func (s *State) Asks() []Ask {
	if s.Closed() || !s.Exists() || s.Claim != nil || s.CallbackRecipient() != "" { // the callback comes first
		return nil
	}
	f := s.Floor()
	switch {
	case f.rule == rulePassed, f.Anyone && f.rule == ruleTriggers, f.waits:
		return nil
	case !f.Anyone:
		return askSpeaker(s, f.Speaker)
	}
	var asks []Ask
	for i, p := range s.Participants {
		if p.Kind.Claims() && p.ID != s.LastSpeaker && !slices.Contains(s.Passed, p.ID) {
			a := newAsk(s, i)
			if !a.Offer { // the time limit starts when the attempts of the agent are used up
				a.TimeoutMs = turnTimeout(s, a.AgentID)
			}
			asks = append(asks, a)
		}
	}
	return setDelays(s, asks)
}

// Where anyone may speak, the agent that was silent longest is asked first, and each other one openStepMs after the one
// before it. If a person or peer takes part, all of them are asked openPersonMs later, because agents that answer at
// once would leave no time for a person.
const (
	openStepMs   = 100
	openPersonMs = 500
)

func setDelays(s *State, asks []Ask) []Ask {
	slices.SortStableFunc(asks, func(a, b Ask) int { return cmp.Compare(a.SinceSeq, b.SinceSeq) })
	first := int64(0)
	if slices.ContainsFunc(s.Participants, isPerson) {
		first = openPersonMs
	}
	for i := range asks {
		asks[i].DelayMs = first + int64(i)*openStepMs
	}
	return asks
}

// askSpeaker returns the Ask of the only participant that has the floor.
func askSpeaker(s *State, speaker string) []Ask {
	seat := s.Seat(speaker)
	if seat < 0 {
		return nil
	}
	a := newAsk(s, seat)
	if isPerson(s.Participants[seat]) && (s.Limits.TurnTimeoutMs == 0 || slices.Contains(s.Passed, a.AgentID)) {
		return nil // people and peers have a time limit only if the conversation sets one
	}
	a.TimeoutMs = turnTimeout(s, a.AgentID)
	return []Ask{a}
}

func newAsk(s *State, seat int) Ask {
	p, activity := s.Participants[seat], s.Activities[seat]
	t := s.triesOf(p.ID)
	a := Ask{
		AgentID: p.ID, Agent: AgentName(p), Serves: s.ServedBy(seat), Place: p.Executor, Turn: s.CurrentTurn(),
		Since: max(s.FloorSeq, s.SeatSeqs[seat], t.Since),
		Offer: p.Kind.Claims() && t.Attempts < s.Limits.Attempts(), Attempts: t.Attempts, Ended: t.Ended,
		ExecutorID: activity.ExecutorID, SinceSeq: activity.FinalSeq,
	}
	if r := s.Session; r != nil && r.AgentID == p.ID {
		a.Patient, a.Demands = true, s.Demands(seat)
	}
	return a
}

// Demands returns the labels that an executor must have to take the turns of a seat. A runner to which a session is
// assigned has them.
func (s *State) Demands(seat int) map[string]string {
	if r := s.Session; r != nil && r.Runner == nil && r.AgentID == s.Participants[seat].ID {
		return r.Demands
	}
	return nil
}

// turnTimeout returns how long the turn of an agent may have no claim. Each new offer of the turn doubles this time.
func turnTimeout(s *State, agent string) int64 {
	limit := s.Limits.TurnTimeout()
	if s.Session != nil && agent == s.Session.AgentID {
		return limits.SessionQueueMs
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
