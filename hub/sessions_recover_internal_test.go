package hub

// Which errands have run by when is seen from inside alone.

import (
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// TestRecoveredSessionsRunAtOnce: after a start, a session that its parent's log has may run as soon as both were seen, in whatever order, before any errand was run for it;
// one that the parent does not know of may not.
func TestRecoveredSessionsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openBare(t)
		synctest.Wait()
		s := newSessions(h) // whose errands nobody runs
		child := func(id string) *fold.State {
			return &fold.State{ID: id, Seq: 1, Session: &parley.SessionRecord{Parent: "case", Root: "case"}}
		}
		s.note("ses_before", child("ses_before"))
		s.note("ses_other", child("ses_other"))
		s.recovered(&fold.State{ID: "case", Seq: 1, Children: []fold.Child{{ID: "ses_before"}, {ID: "ses_after"}, {ID: "ses_gone"}}})
		s.note("ses_after", child("ses_after"))
		for id, want := range map[string]bool{"ses_before": true, "ses_after": true, "ses_other": false} {
			if got := s.MayRun(id); got != want {
				t.Errorf("%s may run: %t", id, got)
			}
		}
		s.AllSeen()
		if s.note("ses_gone", child("ses_gone")); s.MayRun("ses_gone") {
			t.Error("what was said of a session that was never seen is kept for ever")
		}
	})
}
