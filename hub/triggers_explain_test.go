package hub_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
)

// hanging is an embedder that never answers.
type hanging struct{}

func (hanging) Name() string { return "hanging" }

func (hanging) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestExplainTakesItsTimeOnce: however many agents the dry-run looks at, what it fetches for all of them takes no longer than for one.
func TestExplainTakesItsTimeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := counted("x")
		o.Embedder = hanging{}
		h := startOn(t, newJournal(t), o)
		listeners(t, h, listens("calc", `[{"schema_name":"go.v1"},{"schema_name":"s.v1","role":"context","fetch":"vector"}]`))
		ann := h.LocalPrincipal("ann")
		q := hall("calc")
		for i := range 10 {
			q.Participants = append(q.Participants, parley.Participant{ID: fmt.Sprintf("calc%d", i), Kind: parley.KindTool, Agent: "calc"})
		}
		id := create(t, h, ann, q)
		noting(t, h, ann, id, "s.v1", `{"x":1}`)
		seq := noting(t, h, ann, id, "go.v1", `{"input":{"n":1}}`)
		at := time.Now()
		r, err := h.ExplainTriggers(t.Context(), ann, &parley.ExplainTriggersParams{ConversationID: id, Seq: seq})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(at); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		for _, row := range r.Agents {
			if len(row.Context) != 1 || row.Context[0].Error == "" || row.Context[0].Key != "s" {
				t.Errorf("%s: %+v", row.AgentID, row.Context)
			}
		}
	})
}
