package archive

import (
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
)

// owed is the note with which a session answers the event that started it. It follows the end of
// the session.
type owed struct {
	fold.Match
	status parley.SessionStatus
}

// owe sets the answer that may follow an event; s is the state before the event.
func (c *planned) owe(s *fold.State, e *parley.Event) error {
	c.owed = nil
	if e.Type != parley.TypeSystem || len(s.Matches) == 0 {
		return nil
	}
	sys, err := e.System()
	if err != nil {
		return err
	}
	session, status := "", sys.Status
	switch {
	case sys.Kind == parley.KindSessionEnded:
		session = sys.SessionID
	case sys.Kind == parley.KindTriggerEnded && sys.Trigger != nil:
		session, status = sys.Trigger.SessionID, parley.SessionFailed
	}
	if i := s.MatchIndex(session); i >= 0 {
		c.owed = &owed{Match: s.Matches[i], status: status}
	}
	return nil
}

// answers reports whether a note is the answer that may follow. Its author may have no seat.
func (c *planned) answers(e *parley.Event, sys *parley.System) bool {
	w := c.owed
	return w != nil && e.From == w.AgentID && e.ClientRequestID == "" && sys.Schema == w.AnswerSchema &&
		checkCarries(e, &parley.Cause{Seq: w.Seq}, w.Hops+1) == nil
}

// checkAnswer refuses an answer that no hub writes.
func (c *planned) checkAnswer(sys *parley.System) error {
	var a parley.Answer
	if err := json.Unmarshal(sys.Data, &a); err != nil {
		return fmt.Errorf("an answer: %w", err)
	}
	if a.Agent != c.owed.Agent || a.SessionID != c.owed.SessionID || a.TriggerSeq != c.owed.Seq ||
		a.Status != c.owed.status {
		return fmt.Errorf("an answer of the session %.80q to the event %d that is not what its end says", a.SessionID, a.TriggerSeq)
	}
	return check.Note(&parley.Note{Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data})
}

// matchesOnce refuses matches whose sessions were matched or started before. The fold checks the
// sessions that wait.
func (c *planned) matchesOnce(wakes []parley.Wake) error {
	for _, w := range wakes {
		switch {
		case w.SessionID == "":
			continue
		case c.started[w.SessionID] || c.matched[w.SessionID]:
			return fmt.Errorf("the session %.80q was started before", w.SessionID)
		case c.matched == nil:
			c.matched = map[string]bool{}
		}
		c.matched[w.SessionID] = true
	}
	return nil
}
