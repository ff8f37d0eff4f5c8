package archive

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/limits"
)

// checkMatched refuses a trigger_matched that no hub writes on s, the state before
// it. The fold checks that it follows its event, and that it triggers no agent twice.
func checkMatched(s *fold.State, e *parley.Event, t *parley.TriggerRecord) error {
	if t.AgentID != "" || t.SessionID != "" || t.Reason != "" || len(t.Wakes) > len(s.Participants)+limits.MaxWatchers {
		return fmt.Errorf("trigger_matched with %d wakes, or with what is for trigger_ended", len(t.Wakes))
	}
	pending := len(s.Matches)
	for i := range t.Wakes {
		w := &t.Wakes[i]
		if err := checkWake(s, w); err != nil {
			return err
		}
		if w.Stopped != "" {
			continue
		}
		if limit := s.WakeLimit(w, pending, e.At); limit != "" {
			return fmt.Errorf("%s is woken in spite of %s", w.AgentID, limit)
		}
		pending++
	}
	return nil
}

// checkWake refuses a match that no event has.
func checkWake(s *fold.State, w *parley.Wake) error {
	switch w.Stopped {
	case "", parley.StoppedMaxHops, parley.StoppedMaxWakes, parley.StoppedTooMany:
	default:
		return fmt.Errorf("%.80q is stopped by %.80q", w.AgentID, w.Stopped)
	}
	switch {
	case w.Selector < 0 || w.Selector >= limits.MaxSelectors:
		return fmt.Errorf("%.80q is woken by the selector %d", w.AgentID, w.Selector)
	case w.SessionID != "" && (w.Stopped != "" || !validSession(w.SessionID)):
		return fmt.Errorf("%.80q is woken by the session %.80q", w.AgentID, w.SessionID)
	case (w.SessionID != "") != (w.AnswerSchema != "") && w.Stopped == "":
		return fmt.Errorf("%.80q is woken by the session %.80q, which answers with %.80q", w.AgentID, w.SessionID, w.AnswerSchema)
	case w.AnswerSchema != "" && check.Note(&parley.Note{Schema: w.AnswerSchema, Data: []byte("null")}) != nil:
		return fmt.Errorf("%.80q is woken to answer with %.200q", w.AgentID, w.AnswerSchema)
	case w.Workspace && (s.Workspace == "" || w.Agent != w.AgentID || !parley.ValidParticipantID(w.AgentID)):
		return fmt.Errorf("%.80q watches a workspace, but its name or the workspace is invalid", w.AgentID)
	case w.Workspace:
		return nil
	}
	seat := s.Seat(w.AgentID)
	if seat < 0 || !s.Participants[seat].Kind.Claims() || fold.AgentName(s.Participants[seat]) != w.Agent {
		return fmt.Errorf("%.80q is triggered, but is no agent of the conversation named %.80q", w.AgentID, w.Agent)
	}
	return nil
}

// checkTriggerEnded refuses the end of a match that no hub writes. The fold checks
// that the match waits.
func checkTriggerEnded(sys *parley.System) error {
	if t := sys.Trigger; t.Reason != parley.TriggerNotStarted || len(t.Wakes) > 0 {
		return fmt.Errorf("trigger_ended with reason %.80q and %d wakes", t.Reason, len(t.Wakes))
	}
	return check.Reason(sys.Detail)
}

// checkStarted checks the cause of a session.
func checkStarted(r *parley.SessionRecord) error {
	t, c := r.Trigger, r.Cause
	switch {
	case r.Hops < 0 || r.Hops > limits.MaxHopsLimit:
		return fmt.Errorf("a session after %d hops", r.Hops)
	case c != nil && (r.Hops < 1 || c.Seq < 1 || r.Parent == "" || !parley.ValidConversationID(c.ConversationID)):
		return fmt.Errorf("a session for the event %d of %.80q, after %d hops", c.Seq, c.ConversationID, r.Hops)
	case t == nil:
		return nil
	case r.Parent == "" || r.Depth != 1 || r.Mode != parley.ModeAsyncPoll || r.Runner == nil:
		return errors.New("a session that an event has started without a parent, or in another way than events start them")
	case t.Selector < 0 || t.Selector >= limits.MaxSelectors || c == nil || c.ConversationID != r.Parent || c.Seq != t.Seq:
		return fmt.Errorf("a session that the event %d has started by the selector %d, and another cause", t.Seq, t.Selector)
	}
	return nil
}

// checkStartOf refuses a session_started that differs from its match.
func checkStartOf(w *fold.Match, sys *parley.System) error {
	if sys.AgentID != w.By || sys.Agent != w.Agent || sys.Mode != parley.ModeAsyncPoll {
		return fmt.Errorf("a session of %.80q that %.80q has started, and the event %d of %s wakes %s", sys.Agent,
			sys.AgentID, w.Seq, w.By, w.Agent)
	}
	return nil
}

// checkCarries refuses an event whose cause differs from the one that the hub sets.
func checkCarries(e *parley.Event, cause *parley.Cause, hops int) error {
	if e.Hops == hops && (e.Cause == nil) == (cause == nil) && (cause == nil || *e.Cause == *cause) {
		return nil
	}
	return fmt.Errorf("it has the cause %s, expected %s", tellCause(e.Cause, e.Hops), tellCause(cause, hops))
}

func tellCause(c *parley.Cause, hops int) string {
	switch {
	case c == nil:
		return fmt.Sprintf("none after %d hops", hops)
	case c.ConversationID == "":
		return fmt.Sprintf("%d after %d hops", c.Seq, hops)
	}
	return fmt.Sprintf("%d of %.80q after %d hops", c.Seq, c.ConversationID, hops)
}

// checkSystemCarries is checkCarries for a system event that is not an answer; s is the state
// before it.
func checkSystemCarries(s *fold.State, e *parley.Event, sys *parley.System) error {
	cause, hops := (*parley.Cause)(nil), 0
	switch sys.Kind {
	case parley.KindNote:
		cause, hops = s.CauseOf(e.From)
	case parley.KindSessionStarted, parley.KindSessionEnded:
		if i := s.ChildIndex(sys.SessionID); i >= 0 {
			hops = s.Children[i].Hops
		} else if sys.Kind == parley.KindSessionStarted {
			hops = min(max(e.Hops, 0), limits.MaxHopsLimit) // as those of the caller at the start
		}
		if i := s.MatchIndex(sys.SessionID); i >= 0 {
			hops = s.Matches[i].Hops + 1
		}
	}
	return checkCarries(e, cause, hops)
}

// checkGranted checks the workspaces of a token.
func checkGranted(workspaces []string) error {
	if len(workspaces) > limits.MaxWorkspaces {
		return fmt.Errorf("there are %d workspaces, expected at most %d", len(workspaces), limits.MaxWorkspaces)
	}
	for _, w := range workspaces {
		if !parley.ValidWorkspace(w) {
			return fmt.Errorf("workspace %.80q is not acceptable", w)
		}
	}
	return nil
}

// anyWorkspace means every workspace in the record of a runner.
const anyWorkspace = "*"

// checkWatched checks the workspaces of a runner.
func checkWatched(workspaces []string) error {
	if len(workspaces) == 1 && workspaces[0] == anyWorkspace {
		return nil
	}
	return checkGranted(workspaces)
}
