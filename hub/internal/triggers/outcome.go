package triggers

import (
	"context"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// outcome returns the state of a match, in a word and in a sentence.
func (x *explanation) outcome(w *parley.Wake) (state parley.TriggerState, because string, err error) {
	state, because = parley.TriggerStopped, fmt.Sprintf("Selector %d, a trigger, has matched the event", w.Selector)
	switch w.Stopped {
	case "":
		var then string
		if w.SessionID == "" {
			state, then = x.turnOutcome(w)
		} else {
			state, then, err = x.sessionOutcome(w)
		}
		because += ": " + then
	case parley.StoppedMaxHops:
		because += fmt.Sprintf(", but limits.maxHops, %d, does not let it wake.", x.state.Limits.Hops())
	case parley.StoppedMaxWakes:
		because += fmt.Sprintf(", but limits.maxWakesPerMinute, %d, does not let it wake.",
			x.state.Limits.WakesPerMinute())
	default:
		because += ", but too many matches waited already."
	}
	return state, because, err
}

func (x *explanation) turnOutcome(w *parley.Wake) (parley.TriggerState, string) {
	s, ended := x.state, x.ended[w.AgentID]
	waits := slices.ContainsFunc(s.Matches, func(o fold.Match) bool {
		return o.Seq == x.logged.Seq && o.AgentID == w.AgentID
	})
	switch {
	case ended == parley.TriggerFinished:
		return ended, "a turn that was given it has finished."
	case !waits && s.Closed() && ended == "":
		return parley.TriggerEnded, "the conversation was closed before its turn."
	case !waits:
		return parley.TriggerEnded,
			"the turn that was given it has ended without a message (" + parley.TriggerInterrupted + ")."
	case s.Claim != nil && s.Claim.AgentID == w.AgentID && s.Claim.UpTo >= x.logged.Seq,
		s.Claim == nil && s.Open && s.Owner == w.AgentID:
		return parley.TriggerRunning, "the turn that was given it is under way."
	}
	return parley.TriggerPending, "it waits for a turn."
}

func (x *explanation) sessionOutcome(w *parley.Wake) (parley.TriggerState, string, error) {
	child, err := x.service.engine.StateOf(w.SessionID)
	if err != nil {
		return "", "", err
	}
	if !child.Exists() {
		if x.state.MatchIndex(w.SessionID) >= 0 {
			return parley.TriggerPending, "it waits for its session to begin.", nil
		}
		return parley.TriggerEnded, "its session could not be started (" + parley.TriggerNotStarted + ").", nil
	}
	status := child.SessionStatus()
	switch {
	case !child.Closed() && status == parley.SessionPending:
		return parley.TriggerPending, "its session waits for its runner.", nil
	case !child.Closed():
		return parley.TriggerRunning, "its session runs.", nil
	}
	because := fmt.Sprintf("its session has ended (%s).", status)
	if status == parley.SessionStopped {
		return parley.TriggerEnded, because, nil
	}
	return parley.TriggerFinished, because, nil
}

// readEndedTurns returns how the turns ended that got the event, by participant. It reads the log from
// the event on, until all are found.
func (x *explanation) readEndedTurns(ctx context.Context) (map[string]parley.TriggerState, error) {
	s, seq := x.state, x.logged.Seq
	open := make(map[string]bool)
	for _, w := range x.wakes {
		if w.SessionID == "" && w.Stopped == "" {
			open[w.AgentID] = true
		}
	}
	for _, w := range s.Matches {
		if w.Seq == seq {
			delete(open, w.AgentID) // its turn is not over
		}
	}
	ended := make(map[string]parley.TriggerState)
	var claim parley.System // the current claim, or zero
	for at := seq; len(open) > 0 && at < s.Seq; {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		records, err := x.service.engine.Journal().Read(s.ID, at, int(min(s.Seq-at, 1000)), 4<<20)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.ID, err)
		}
		if len(records) == 0 {
			return ended, nil
		}
		for _, r := range records {
			var e parley.Event
			if err := e.UnmarshalJSON(r.Data); err != nil {
				return nil, err
			}
			at = e.Seq
			agentID, how, err := turnEnd(&e, &claim)
			if err != nil {
				return nil, err
			}
			if how == "" {
				continue
			}
			if open[agentID] && (claim.AgentID != agentID || claim.UpTo >= seq) { // the turn got the event
				ended[agentID] = how
				delete(open, agentID)
			}
			claim.AgentID = ""
		}
	}
	return ended, nil
}

// turnEnd returns whose turn an event ends, and how; how is empty if it ends none. It updates the claim.
func turnEnd(e *parley.Event, claim *parley.System) (agentID string, how parley.TriggerState, err error) {
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
		*claim = sys
	case parley.KindClaimEnded:
		claim.AgentID = ""
	case parley.KindTurnEnded:
		return sys.AgentID, parley.TriggerEnded, nil
	}
	return "", "", nil
}
