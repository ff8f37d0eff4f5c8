package hub

import (
	"context"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// became tells what has become of a match, in a word and in a sentence.
func (x *explaining) became(w *parley.Wake) (parley.TriggerState, string, error) {
	how := fmt.Sprintf("Selector %d, a trigger, has matched the event", w.Selector)
	switch w.Stopped {
	case "":
	case parley.StoppedMaxHops:
		return parley.TriggerStopped, how + fmt.Sprintf(", but limits.maxHops, %d, does not let it wake.", x.state.Limits.Hops()), nil
	case parley.StoppedMaxWakes:
		return parley.TriggerStopped, how + fmt.Sprintf(", but limits.maxWakesPerMinute, %d, does not let it wake.", x.state.Limits.WakesPerMinute()), nil
	default:
		return parley.TriggerStopped, how + ", but too many matches waited already.", nil
	}
	if w.SessionID == "" {
		state, then := x.turn(w)
		return state, how + ": " + then, nil
	}
	state, then, err := x.session(w)
	return state, how + ": " + then, err
}

// turn is for a match that waits for a turn.
func (x *explaining) turn(w *parley.Wake) (parley.TriggerState, string) {
	s := x.state
	if over, ok := x.turns[w.AgentID]; ok && over == parley.TriggerFinished {
		return over, "a turn that was given it has finished."
	}
	waits := false
	for i := range s.Woken {
		waits = waits || s.Woken[i].Seq == x.event.Seq && s.Woken[i].AgentID == w.AgentID
	}
	switch {
	case !waits && s.Closed() && x.turns[w.AgentID] == "":
		return parley.TriggerEnded, "the conversation was closed before its turn."
	case !waits:
		return parley.TriggerEnded, "the turn that was given it has ended without a message (" + parley.TriggerInterrupted + ")."
	case s.Claim != nil && s.Claim.AgentID == w.AgentID && s.Claim.UpTo >= x.event.Seq, s.Claim == nil && s.Open && s.Owner == w.AgentID:
		return parley.TriggerRunning, "the turn that was given it is under way."
	}
	return parley.TriggerPending, "it waits for a turn."
}

// session is for a match that starts a session.
func (x *explaining) session(w *parley.Wake) (parley.TriggerState, string, error) {
	child, err := x.hub.conv.StateOf(w.SessionID)
	if err != nil {
		return "", "", err
	}
	pending := x.state.PendingSession(w.SessionID) >= 0
	switch {
	case !child.Exists() && pending:
		return parley.TriggerPending, "it waits for its session to begin.", nil
	case !child.Exists():
		return parley.TriggerEnded, "its session could not be started (" + parley.TriggerNotStarted + ").", nil
	case !child.Closed() && child.SessionStatus() == parley.SessionPending:
		return parley.TriggerPending, "its session waits for its runner.", nil
	case !child.Closed():
		return parley.TriggerRunning, "its session runs.", nil
	}
	then := fmt.Sprintf("its session has ended (%s).", child.SessionStatus())
	if child.SessionStatus() == parley.SessionStopped {
		return parley.TriggerEnded, then, nil
	}
	return parley.TriggerFinished, then, nil
}

// turnsOver finds out, for the matches of an event that are over and were for turns, how their turns have ended: by a message, or otherwise. It reads the log after the event until it
// knows of all.
func (h *Hub) turnsOver(ctx context.Context, s *fold.State, seq int64, wakes []parley.Wake) (map[string]parley.TriggerState, error) {
	open := make(map[string]bool)
	for _, w := range wakes {
		if w.SessionID == "" && w.Stopped == "" {
			open[w.AgentID] = true
		}
	}
	for i := range s.Woken {
		if s.Woken[i].Seq == seq {
			delete(open, s.Woken[i].AgentID) // it waits
		}
	}
	over := make(map[string]parley.TriggerState)
	claimed, upTo := "", int64(0)
	for at := seq; len(open) > 0 && at < s.Seq; {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		records, err := h.journal.Read(s.ID, at, int(min(s.Seq-at, 1000)), 4<<20)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.ID, err)
		}
		if len(records) == 0 {
			return over, nil
		}
		for _, r := range records {
			var e parley.Event
			if err := e.UnmarshalJSON(r.Data); err != nil {
				return nil, err
			}
			who, how, err := turnEnd(&e, &claimed, &upTo)
			if err != nil {
				return nil, err
			}
			if given := claimed != who || upTo >= seq; open[who] && how != "" && given {
				over[who] = how
				delete(open, who)
			}
			if how != "" {
				claimed = ""
			}
			at = e.Seq
		}
	}
	return over, nil
}

// turnEnd gives whose turn an event ends, and how; it keeps who has the claim, and up to where that was given the log.
func turnEnd(e *parley.Event, claimed *string, upTo *int64) (who string, how parley.TriggerState, err error) {
	if e.Type == parley.TypeMessage && e.Finality.Final() && e.From != parley.HubID {
		return e.From, parley.TriggerFinished, nil
	}
	if e.Type != parley.TypeSystem {
		return "", "", nil
	}
	sys, err := e.System()
	if err != nil {
		return "", "", err
	}
	switch sys.Kind {
	case parley.KindTurnClaimed:
		*claimed, *upTo = sys.AgentID, sys.UpTo
	case parley.KindClaimEnded:
		*claimed = ""
	case parley.KindTurnEnded:
		return sys.AgentID, parley.TriggerEnded, nil
	}
	return "", "", nil
}
