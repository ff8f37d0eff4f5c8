package hub_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/internal/limits"
)

// busy is a runner that completes every offered session at once, and counts how often it got each.
type busy struct {
	t    *testing.T
	h    *hub.Hub
	p    *hub.Principal
	work chan parley.RequestTurn

	mu    sync.Mutex // guards the field below
	taken map[string]int
}

func newBusy(t *testing.T, h *hub.Hub, blueprints ...parley.Blueprint) *busy {
	t.Helper()
	x := &busy{t: t, h: h, work: make(chan parley.RequestTurn, 1000), taken: make(map[string]int)}
	conn := h.Connect(func(n parley.ExecutorNotification) {
		if n.RequestTurn != nil {
			x.work <- *n.RequestTurn
		}
	}, func() {})
	x.p = h.LocalPrincipal("ops").SpeakingAs("calc").On(conn)
	q := &parley.RegisterExecutorParams{ExecutorID: "box", Mode: parley.ModePush, GraceMs: limits.OfflineMs, Capacity: 100}
	if _, err := one(func(done func(parley.RegisterExecutorResult, error)) {
		h.RegisterExecutor(x.p, q, done)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := one(func(done func(parley.RegisterBlueprintsResult, error)) {
		h.RegisterBlueprints(x.p, &parley.RegisterBlueprintsParams{Blueprints: blueprints}, done)
	}); err != nil {
		t.Fatal(err)
	}
	return x
}

// run works until the end of the test.
func (x *busy) run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case o := <-x.work:
			if _, err := claimTurn(x.h, x.p, parley.ClaimTurnParams{ConversationID: o.ConversationID,
				ClaimID: o.ClaimID}); err != nil {
				continue
			}
			x.mu.Lock()
			x.taken[o.ConversationID]++
			x.mu.Unlock()
			<-post(x.h, x.p, closing(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done")))
		}
	}
}

// TestManyNotesAtOnce: of 200 notes at once each starts one session and is answered once, in a real file.
func TestManyNotesAtOnce(t *testing.T) {
	const n = 200
	j, err := bolt.Open(filepath.Join(t.TempDir(), "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkLog(t, j)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	h := startOn(t, j, counted("x"))
	x := newBusy(t, h, listens("calc", onSchema("s.v1")))
	done := make(chan struct{})
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() { x.run(done) })
	}
	defer workers.Wait()
	defer close(done)
	ann := h.LocalPrincipal("ann")
	q := hall("calc")
	id := create(t, h, ann, q)
	var posted sync.WaitGroup
	refusals := make(chan error, n)
	for i := range n {
		posted.Go(func() {
			_, err := one(func(done func(parley.SeqResult, error)) {
				h.SendNote(ann, &parley.SendNoteParams{
					ConversationID: id, Payload: parley.Note{Schema: "s.v1", Data: json.RawMessage(`{"input":{"n":1}}`)}, ClientRequestID: fmt.Sprint("k", i),
				}, done)
			})
			refusals <- err
		})
	}
	posted.Wait()
	for range n {
		if err := <-refusals; err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[int64]int)
	stopped := 0
	for deadline := time.Now().Add(5 * time.Minute); ; {
		clear(seen)
		all, _ := answered(t, j, id)
		for _, a := range all {
			seen[a.TriggerSeq]++
		}
		stopped = 0
		for _, s := range storyOf(t, j, id, 1) {
			if s == "woken calc too_many" {
				stopped++
			}
		}
		if len(seen)+stopped == n {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d are answered, and %d were too many", len(seen), n, stopped)
		}
		<-time.After(10 * time.Millisecond)
	}
	for seq, times := range seen {
		if times != 1 {
			t.Errorf("note %d is answered %d times", seq, times)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.taken) != len(seen) {
		t.Errorf("%d sessions were run for %d notes", len(x.taken), len(seen))
	}
	for ses, times := range x.taken {
		if times != 1 {
			t.Errorf("%s was run %d times", ses, times)
		}
	}
}
