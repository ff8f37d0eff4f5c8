//go:build linux

package disk

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/faultfs"
)

var slowRounds = flag.Int("disk.slow", 1, "hubs that TestSlowDisk stops while syncs take long")

const (
	// heldAppends is how many appends TestNothingBeforeSync holds at each of their syncs.
	heldAppends = 8
	// slowWriters write at once in TestSlowDisk.
	slowWriters = 8
	// slowAcks is the number of acknowledged appends before the hub is stopped.
	slowAcks = 24
)

// TestNothingBeforeSync checks that no one sees an append before its sync ends, and that other
// calls are served meanwhile.
func TestNothingBeforeSync(t *testing.T) {
	needFaults(t, 1)
	m := faultfs.Mount(t, t.TempDir())
	copyDir(t, prepare(t, "a"), filepath.Join(m.Under, "data"))
	h := program.Start(t, filepath.Join(m.Dir, "data"))
	r := &sight{t: t, caller: mustDial(t, h)}
	for _, id := range conversations {
		r.caller.must(t, methods.Subscribe, parley.SubscribeParams{ConversationID: id}, &parley.SubscribeResult{})
	}
	author, err := dial(h, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer author.Close()
	for n := range heldAppends {
		r.committed = int64(len(r.caller.tail(t, conversations[0], 0)))
		hold := m.Hold(t)
		answered := make(chan error, 1)
		var result parley.SendResult
		go func() {
			answered <- author.Call(methods.SendMessage, parley.SendMessageParams{
				ConversationID: conversations[0], Finality: parley.FinalityTurn, ClientRequestID: fmt.Sprint("held-", n),
				Payload: json.RawMessage(fmt.Sprintf(`{"text":"held %d"}`, n)),
			}, &result)
		}()
		syncs := r.hold(hold, answered)
		m.Heal()
		if syncs < 2 || result.Seq != r.committed+1 {
			t.Fatalf("append %d was acknowledged at %d after %d syncs, expected %d after at least 2", n, result.Seq, syncs,
				r.committed+1)
		}
		var w parley.WaitForChangeResult
		r.caller.must(t, methods.WaitForChange, parley.WaitForChangeParams{
			ConversationID: conversations[0], SinceSeq: r.committed, TimeoutMs: parley.MaxWaitMs,
		}, &w)
		if w.TimedOut || w.LatestSeq != result.Seq {
			t.Fatalf("after the sync: %+v, expected %d", w, result.Seq)
		}
	}
	author.Close()
	r.caller.Close()
	h.Stop(t)
	t.Logf("%d looks while %d appends were held at their syncs", r.looks, heldAppends)
	promise.ID(1).Kept(t, promise.Tried{Faults: heldAppends, Operations: r.looks, Violations: r.violations})
}

// sight looks whether anything of an append is to be seen.
type sight struct {
	t      *testing.T
	caller *caller
	// committed is the last seq that may be seen of the first conversation.
	committed         int64
	looks, violations int
}

// hold releases one sync after another until the append is answered. It checks the readers before
// each sync of log.db, and returns the number of these syncs.
func (r *sight) hold(hold *faultfs.Hold, answered <-chan error) (syncs int) {
	r.t.Helper()
	timeout := time.After(endTimeout)
	for {
		select {
		case s := <-hold.Syncs:
			if s.Name == "log.db" {
				r.look(answered)
				syncs++
			}
			s.Let()
		case err := <-answered:
			if err != nil {
				r.t.Fatal(err)
			}
			return syncs
		case <-timeout:
			r.t.Fatalf("no answer within %s", endTimeout)
		}
	}
}

// look reads by all ways.
func (r *sight) look(answered <-chan error) {
	r.t.Helper()
	r.looks++
	id := conversations[0]
	events := r.caller.tail(r.t, id, 0)
	var snapshot parley.Snapshot
	r.caller.must(r.t, methods.GetConversation, parley.GetConversationParams{ConversationID: id}, &snapshot)
	var updates parley.GetUpdatesResult
	r.caller.must(r.t, methods.GetUpdates, parley.GetUpdatesParams{ConversationID: id, Limit: parley.MaxPage}, &updates)
	var waited parley.WaitForChangeResult
	r.caller.must(r.t, methods.WaitForChange, parley.WaitForChangeParams{ConversationID: id, SinceSeq: r.committed,
		TimeoutMs: 1}, &waited)
	told := int64(0)
	for _, s := range r.caller.shown {
		if s.conversation == id {
			told = max(told, s.seq)
		}
	}
	if int64(len(events)) != r.committed || snapshot.LatestSeq != r.committed || updates.LatestSeq != r.committed ||
		!waited.TimedOut || told > r.committed {
		r.violations++
		r.t.Errorf("before the sync: tail gives %d events, getConversation is at %d, getUpdates at %d, waitForChange at %d, a subscriber at %d; %d are durable",
			len(events), snapshot.LatestSeq, updates.LatestSeq, waited.LatestSeq, told, r.committed)
	}
	if len(answered) > 0 {
		r.violations++
		r.t.Error("the append was answered before its sync")
	}
	r.caller.tail(r.t, conversations[1], 0)
}

// TestSlowDisk makes syncs slow. Appends are acknowledged late and reads continue. A stopped hub
// ends in time with everything that it acknowledged.
func TestSlowDisk(t *testing.T) {
	needFaults(t, 1, 2, 18)
	m := faultfs.Mount(t, t.TempDir())
	var ids []string
	for i := range slowWriters {
		ids = append(ids, fmt.Sprint("w", i))
	}
	prepared := prepare(t, ids...)
	var sum tally
	var reads int64
	for round := range *slowRounds {
		name := fmt.Sprint("slow-", round)
		copyDir(t, prepared, filepath.Join(m.Under, name))
		h := program.Start(t, filepath.Join(m.Dir, name))
		told := watch(t, h)
		m.Slow(func() time.Duration {
			return 200*time.Millisecond + rand.N(min(time.Duration(1+round)*100*time.Millisecond, time.Second))
		})
		var ws []*writer
		for i, id := range ids {
			w := newWriter(id, conversations[i%2], 500)
			w.appends = w.appends[i:] // so that some begin with a file
			ws = append(ws, w)
		}
		reads += stopInTheMiddle(t, h, ws)
		m.Heal()
		j := &judge{t: t, after: fmt.Sprintf("round %d of slow syncs and SIGTERM", round)}
		events := told.told()
		under := filepath.Join(m.Under, name)
		verifyLog(t, under, j)
		h = program.Start(t, under)
		j.all(h, ws, events)
		h.Kill(t)
		j.faults = 1
		sum.add(j.tally)
	}
	t.Logf("%d hubs stopped in the middle: %d acknowledged, %d refused, %d unknown of which the log had %d; %d reads meanwhile",
		*slowRounds, sum.acked, sum.refused, sum.unknown, sum.found, reads)
	if sum.acked < slowAcks**slowRounds || reads < int64(sum.acked) {
		t.Errorf("too little to prove anything: %d acknowledged, %d reads", sum.acked, reads)
	}
	promise.ID(1).Kept(t, sum.tried(sum.acked))
	promise.ID(2).Kept(t, sum.tried(sum.acked+sum.refused+sum.unknown))
	promise.ID(18).Kept(t, sum.tried(sum.acked))
}

// stopInTheMiddle stops the hub after some acknowledged appends. It returns the number of reads
// meanwhile.
func stopInTheMiddle(t *testing.T, h *hubproc.Hub, ws []*writer) (reads int64) {
	t.Helper()
	reader := mustDial(t, h)
	enough := make(chan struct{})
	var asked atomic.Int64
	var failed atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		load(t, ws, func(w *writer) error {
			return w.work(h, &failed, func(do func()) bool {
				if asked.Add(1) == slowAcks+slowWriters+1 {
					close(enough)
				}
				return always(do)
			})
		})
	}()
	for {
		for _, id := range conversations {
			reader.tail(t, id, 0)
			reads++
		}
		select {
		case <-enough:
		case <-stopped:
			t.Fatal("the writers have ended before the hub was told to stop")
		default:
			continue
		}
		break
	}
	reader.Close()
	h.Terminate(t)
	if code := h.Ended(t, endTimeout); code != 0 {
		t.Errorf("after SIGTERM the hub has ended with code %d, expected 0\n%s", code, h.Stderr())
	}
	<-stopped
	return reads
}
