package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/hubproc"
)

const (
	rounds        = 20
	writers       = 64
	conversations = 8
	// minRate is the load, in acknowledged appends per second, below which a round proves nothing.
	minRate = 100
)

// writer says numbered messages in one conversation, each under a key of its own, and remembers what was acknowledged.
type writer struct {
	id           string
	conversation string
	// acked[n] is the seq that was acknowledged for message n. Message len(acked) may be in the log without being acknowledged.
	acked      []int64
	duplicates int
}

func (w *writer) key(n int) string { return fmt.Sprintf("%s-%d", w.id, n) }

// work appends until the hub is gone. It begins with the message that has no acknowledgement yet.
func (w *writer) work(h *hubproc.Hub, acks *atomic.Int64, enough int64, done func()) error {
	c, err := dial(h, w.id)
	if err != nil {
		if errors.Is(err, parley.ErrUnavailable) || errors.Is(err, errGone) {
			return nil // killed before this writer came
		}
		return err
	}
	defer c.stream.Close()
	for {
		n := len(w.acked)
		payload, _ := json.Marshal(parley.Message{Text: w.key(n) + strings.Repeat(".", 200)})
		var r parley.SendResult
		err := c.call(parley.MethodSendMessage, parley.SendMessageParams{
			ConversationID: w.conversation, Payload: payload, Finality: parley.FinalityTurn, ClientRequestID: w.key(n),
		}, &r)
		if errors.Is(err, errGone) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: message %d: %w", w.id, n, err)
		}
		w.acked = append(w.acked, r.Seq)
		if r.Duplicate {
			w.duplicates++
		}
		if acks.Add(1) == enough {
			done()
		}
	}
}

// audit reads what the log holds and compares it with what the writers know.
type audit struct {
	cursor map[string]int64   // by conversation
	seqs   map[string][]int64 // by writer: the seq of message n
}

// read goes on from the cursor of each conversation.
func (a *audit) read(t *testing.T, h *hubproc.Hub, ids []string) {
	t.Helper()
	c, err := dial(h, "auditor")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stream.Close()
	for _, id := range ids {
		for {
			var page parley.TailResult
			err := c.call(parley.MethodTail, parley.TailParams{ConversationID: id, SinceSeq: a.cursor[id], Limit: parley.MaxPage}, &page)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events {
				a.take(t, id, e)
			}
			if a.cursor[id] >= page.LatestSeq {
				break
			}
		}
	}
}

func (a *audit) take(t *testing.T, id string, e parley.Event) {
	t.Helper()
	if e.Seq != a.cursor[id]+1 {
		t.Fatalf("%s: seq %d follows %d", id, e.Seq, a.cursor[id])
	}
	a.cursor[id] = e.Seq
	if e.Type != parley.TypeMessage {
		return
	}
	n := len(a.seqs[e.From])
	if want := fmt.Sprintf("%s-%d", e.From, n); e.ClientRequestID != want {
		t.Fatalf("%s: seq %d is message %s of %s, expected %s: lost, doubled or out of order", id, e.Seq, e.ClientRequestID, e.From, want)
	}
	if m, err := e.Message(); err != nil || strings.TrimRight(m.Text, ".") != e.ClientRequestID {
		t.Fatalf("%s: seq %d: text %q under key %s (%v)", id, e.Seq, m.Text, e.ClientRequestID, err)
	}
	a.seqs[e.From] = append(a.seqs[e.From], e.Seq)
}

// compare holds the acknowledgements to the log.
func (a *audit) compare(t *testing.T, ws []*writer) {
	t.Helper()
	for _, w := range ws {
		logged := a.seqs[w.id]
		if len(logged) < len(w.acked) {
			t.Fatalf("%s: %d messages acknowledged, %d in the log", w.id, len(w.acked), len(logged))
		}
		if len(logged) > len(w.acked)+1 {
			t.Fatalf("%s: %d messages in the log, but only %d were sent", w.id, len(logged), len(w.acked)+1)
		}
		for n, seq := range w.acked {
			if logged[n] != seq {
				t.Fatalf("%s: message %d was acknowledged as seq %d and stands at %d", w.id, n, seq, logged[n])
			}
		}
	}
}

func TestKill9(t *testing.T) {
	if testing.Short() {
		t.Skip("short: 20 rounds of kill -9 left out")
	}
	start := time.Now()
	dir := t.TempDir()
	h := program.Start(t, dir)
	ids, ws := createSeats(t, h)
	a := &audit{cursor: map[string]int64{}, seqs: map[string][]int64{}}
	var total int64
	slowest := 0.0
	for round := range rounds {
		acks, rate := load(t, h, ws)
		if rate < minRate {
			t.Fatalf("round %d: %.0f appends/s: too little to prove anything", round, rate)
		}
		if slowest == 0 || rate < slowest {
			slowest = rate
		}
		total += acks
		h = program.Start(t, dir)
		a.read(t, h, ids)
		a.compare(t, ws)
	}
	h.Stop(t)
	duplicates := 0
	for _, w := range ws {
		duplicates += w.duplicates
	}
	t.Logf("%s", verify(t, dir))
	t.Logf("%d kills, %d appends acknowledged (slowest round %.0f/s), %d retries met their first append, nothing lost, in %.0f s",
		rounds, total, slowest, duplicates, time.Since(start).Seconds())
}

// createSeats makes the conversations and the writers that share them.
func createSeats(t *testing.T, h *hubproc.Hub) ([]string, []*writer) {
	t.Helper()
	c, err := dial(h, "auditor")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stream.Close()
	var ids []string
	var ws []*writer
	for i := range conversations {
		p := parley.CreateConversationParams{
			ConversationID: fmt.Sprintf("torture-%d", i),
			Policy:         &parley.Policy{Kind: parley.PolicyOpen},
			Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
		}
		for j := range writers / conversations {
			w := &writer{id: fmt.Sprintf("w%d.%d", i, j), conversation: p.ConversationID}
			p.Participants = append(p.Participants, parley.Participant{ID: w.id, Kind: parley.KindAgent})
			ws = append(ws, w)
		}
		var snap parley.Snapshot
		if err := c.call(parley.MethodCreateConversation, p, &snap); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ConversationID)
	}
	return ids, ws
}

// load lets all writers work until a random number of appends was acknowledged, and kills the hub in the middle of it.
func load(t *testing.T, h *hubproc.Hub, ws []*writer) (acks int64, rate float64) {
	t.Helper()
	enough := int64(500 + rand.IntN(4000))
	reached := make(chan struct{})
	var once sync.Once
	var n atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, len(ws))
	start := time.Now()
	for _, w := range ws {
		wg.Go(func() {
			if err := w.work(h, &n, enough, func() { once.Do(func() { close(reached) }) }); err != nil {
				failed <- err
			}
		})
	}
	select {
	case <-reached:
	case err := <-failed:
		t.Fatal(err)
	case <-time.After(time.Duration(enough) * time.Second / minRate):
	}
	took := time.Since(start)
	h.Kill(t)
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	return n.Load(), float64(n.Load()) / took.Seconds()
}

// verify checks the log itself, and an export of it.
func verify(t *testing.T, dir string) string {
	t.Helper()
	checked := program.Run(t, "log", "verify", "--data", dir)
	export := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(export, []byte(program.Run(t, "log", "export", "--data", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, "log", "verify", export)
	return strings.TrimSpace(checked)
}
