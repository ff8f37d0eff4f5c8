package hub_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
)

// TestContextOfABorrowedName: a caller that names its seat after an agent does not get the
// workspaces of that agent's runner.
func TestContextOfABorrowedName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		watching(t, h, "ops", "calc", `[{"schema_name":"go.v1"},{"schema_name":"s.v1","scope":"workspace","role":"context"}]`, "green")
		ann, eve := h.LocalPrincipal("ann"), h.LocalPrincipal("eve")
		noting(t, h, ann, room(t, h, "green", parley.KindPeer), "s.v1", `{"secret":"of green"}`)
		id := create(t, h, eve, &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "eve", Kind: parley.KindTool,
				Agent: "calc"}}, Policy: &parley.Policy{Kind: parley.PolicyOpen},
		})
		r, err := h.GetContext(t.Context(), eve, &parley.GetContextParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(r.Context), "of green") || len(r.Sources) > 0 && len(r.Sources[0].Events) > 0 {
			t.Errorf("eve is given %s, from %+v", r.Context, r.Sources)
		}
	})
}

// TestContextBeforeTheCommit: an undurable event triggers no agent, and a concurrent GetContext
// does not fail.
func TestContextBeforeTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		listeners(t, h, listens("calc", onSchema("go.v1")))
		ann, calc := h.LocalPrincipal("ann"), h.LocalPrincipal("calc")
		id := create(t, h, ann, hall("calc"))
		synctest.Wait()
		j.Hold()
		m := message(id, "", parley.FinalityTurn, "")
		m.Payload = []byte(`{"text":"go","schema":"go.v1"}`)
		sent := post(h, ann, m)
		r, err := h.GetContext(t.Context(), calc, &parley.GetContextParams{ConversationID: id})
		if err != nil || len(r.Triggers) != 0 {
			t.Errorf("before: %+v, %v", r, err)
		}
		j.Release()
		seq := (<-sent).Seq
		r, err = h.GetContext(t.Context(), calc, &parley.GetContextParams{ConversationID: id})
		if err != nil || len(r.Triggers) != 1 || r.Triggers[0] != seq || r.LatestSeq < seq {
			t.Errorf("after: %+v, %v", r, err)
		}
	})
}
