package network

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/proxy"
)

var (
	cutSubscribers = flag.Int("cut.subscribers", 20, "readers behind a proxy that cuts their connections")
	cutCatchUp     = flag.Duration("cut.catchup", 3*time.Minute,
		"time in which the readers must have everything after the last cut; a wait that misses an event takes a minute")
	cutSeconds = flag.Int("cut.seconds", 4,
		"how long connections are cut while writers run and the hub is started again")
)

const (
	cutConversations = 4
	cutWriters       = 8 // of all conversations
	// cutsOfOne is how often each reader must have been cut, on average, for the run to prove
	// something; eventsOfOne how many events it must have had.
	cutsOfOne   = 3
	eventsOfOne = 50
	// cutPause is the time from one restart of the hub to the next, at least; twice that at most.
	cutPause = 700 * time.Millisecond
)

// planCut says after how many bytes a connection is cut: some in the handshake, most in the middle
// of events.
func planCut() int64 {
	switch rand.IntN(8) {
	case 0:
		return rand.Int64N(proxy.EarlyBytes)
	case 1, 2:
		return rand.Int64N(4 << 10)
	default:
		return rand.Int64N(64 << 10)
	}
}

// TestCutConnections cuts the connections of readers of every kind at random bytes, while writers
// run as fast as they can and the hub is killed, stopped and started again. Each reader has every
// event of the log, once and in order.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	dir, addr := t.TempDir(), hubproc.LowAddress(t)
	h := program.Start(t, dir, "--listen", addr)
	var ids []string
	var ws []*writer
	for i := range cutConversations {
		id := fmt.Sprintf("cut-%d", i)
		var speakers []string
		for j := range cutWriters / cutConversations {
			w := &writer{id: fmt.Sprintf("w%d.%d", i, j), conversation: id, size: 200}
			ws, speakers = append(ws, w), append(speakers, w.id)
		}
		create(t, h.URL, id, append(speakers, loner)...)
		ids = append(ids, id)
	}
	p, err := proxy.Start(addr, planCut)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	readers := beginReading(t, p.Addr(), ids)
	office := employ(t, h.URL, ws)
	h, kills, stops := restartFor(t, h, dir, time.Duration(*cutSeconds)*time.Second, func() bool {
		return p.Counts().Cuts >= int64(cutsOfOne*len(readers.all)) && readers.events() >= eventsOfOne*len(readers.all)
	})
	office.rest()
	p.Calm()
	logs := readLogs(t, h.URL, ids)
	readers.catchUp(t, ends(logs))
	lone := readers.loneWords(t, h.URL, ids)
	readers.end(t)
	logs = readLogs(t, h.URL, ids)
	events, violations := readers.compare(t, logs)
	h.Stop(t)

	c := p.Counts()
	acked := office.audit(logs)
	t.Logf("%d readers had %d events over %d connections, %d of them cut (%d in the handshake, %d in the middle of a piece), %d kills and %d SIGTERMs of the hub, %d messages of %d writers (%d attempts with an unknown outcome), %d waits",
		len(readers.all), events, c.Conns, c.Cuts, c.Early, c.Inside, kills, stops, acked, len(ws), office.unknown(),
		readers.waits())
	enough(t, "cuts", int(c.Cuts), cutsOfOne*len(readers.all))
	enough(t, "cuts in the handshake", int(c.Early), 1)
	enough(t, "cuts in the middle of a piece", int(c.Inside), len(readers.all))
	enough(t, "kills", kills, 1)
	enough(t, "SIGTERMs", stops, 1)
	enough(t, "events", events, eventsOfOne*len(readers.all))
	enough(t, "words to readers that wait", lone, loneRounds)
	faults := int(c.Cuts) + kills + stops
	promise.ID(9).Kept(t, promise.Tried{Faults: faults, Operations: events, Violations: violations,
		Figure: fmt.Sprintf("%d connections cut", c.Cuts)})
	promise.ID(10).Kept(t, promise.Tried{Faults: faults, Operations: readers.waits()})
	promise.ID(18).Kept(t, promise.Tried{Faults: stops, Operations: acked, Unknown: office.unknown()})
}

// enough fails a run that was too small to prove anything.
func enough(t *testing.T, what string, n, least int) {
	t.Helper()
	if n < least {
		t.Errorf("%d %s, expected %d at least: the run proves nothing", n, what, least)
	}
}

// enoughTime detects a run that never comes to what proves something.
const enoughTime = 5 * time.Minute

// restartFor starts the hub again and again on the same address, by turns after kill -9 and after
// SIGTERM: for d, and on until it was enough.
func restartFor(t *testing.T, h *hubproc.Hub, dir string, d time.Duration, isEnough func() bool) (_ *hubproc.Hub,
	kills, stops int) {
	t.Helper()
	addr := strings.TrimPrefix(h.HTTP(), "http://")
	start := time.Now()
	goesOn := func() bool {
		return time.Since(start) < d || (stops == 0 || !isEnough()) && time.Since(start) < d+enoughTime
	}
	for goesOn() {
		time.Sleep(cutPause + rand.N(cutPause))
		if kills == stops {
			h.Kill(t)
			kills++
		} else {
			h.Stop(t)
			stops++
		}
		h = program.Start(t, dir, "--listen", addr)
	}
	time.Sleep(cutPause)
	return h, kills, stops
}

func readLogs(t *testing.T, url string, ids []string) map[string]*record {
	t.Helper()
	logs := map[string]*record{}
	for _, id := range ids {
		l, err := readLog(url, id)
		if err != nil {
			t.Fatal(err)
		}
		logs[id] = l
	}
	return logs
}

// readers are those behind the proxy.
type readers struct {
	all    []*reader
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan error
}

// beginReading starts readers of each kind in each conversation.
func beginReading(t *testing.T, addr string, ids []string) *readers {
	ctx, cancel := context.WithCancel(context.Background())
	rs := &readers{cancel: cancel, failed: make(chan error, *cutSubscribers)}
	for i := range *cutSubscribers {
		kind := readerKinds[i%len(readerKinds)]
		id := ids[i/len(readerKinds)%len(ids)]
		r := &reader{name: fmt.Sprintf("%s %d", kind.name, i), addr: addr, conversation: id, history: newHistory(id)}
		rs.all = append(rs.all, r)
		rs.wg.Go(func() {
			if err := kind.read(ctx, r); err != nil && ctx.Err() == nil {
				rs.failed <- fmt.Errorf("%s: %w", r.name, err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		rs.wg.Wait()
	})
	return rs
}

// ends returns the last seq of each log.
func ends(logs map[string]*record) map[string]int64 {
	all := map[string]int64{}
	for id, l := range logs {
		all[id] = l.last()
	}
	return all
}

// loner says a word or a few when all others are done.
const (
	loner      = "loner"
	loneRounds = 30
	// loneGap is the time from one word of a round to the next, at most: about what a reader takes
	// until it waits again.
	loneGap = 3 * time.Millisecond
)

// loneWords posts a few messages to waiting readers, each after all readers have the one before. No
// later message can hide that a reader missed one while it started its next wait. It returns the
// number of messages.
func (rs *readers) loneWords(t *testing.T, url string, ids []string) (words int) {
	t.Helper()
	said := map[string]int64{}
	lone := map[string]*writer{}
	peers := map[string]*peer{}
	for _, id := range ids {
		lone[id] = &writer{id: loner, conversation: id}
	}
	for range loneRounds {
		for _, id := range ids {
			for range 1 + rand.IntN(3) {
				p := peers[id]
				if err := lone[id].say(url, &p); err != nil {
					t.Fatal(err)
				}
				peers[id] = p
				words++
				time.Sleep(rand.N(loneGap))
			}
			said[id] = lone[id].acked[len(lone[id].acked)-1]
		}
		rs.catchUp(t, said)
	}
	for _, p := range peers {
		p.Close()
	}
	return words
}

// catchUp waits until each reader has reached a seq.
func (rs *readers) catchUp(t *testing.T, ends map[string]int64) {
	t.Helper()
	for deadline := time.Now().Add(*cutCatchUp); ; time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-rs.failed:
			t.Fatal(err)
		default:
		}
		var behind []string
		for _, r := range rs.all {
			if s := r.history.seen(r.conversation); s.Wrongs > 0 {
				t.Fatalf("%s: %d events skipped or repeated: %v", r.name, s.Wrongs, s.Wrong)
			}
			if have, want := r.history.last(), ends[r.conversation]; have < want {
				behind = append(behind, fmt.Sprintf("%s has %d of %d", r.name, have, want))
			}
		}
		if len(behind) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s after the last cut %d readers are behind: %.1000s", *cutCatchUp, len(behind),
				strings.Join(behind, ", "))
		}
	}
}

func (rs *readers) end(t *testing.T) {
	t.Helper()
	rs.cancel()
	rs.wg.Wait()
	select {
	case err := <-rs.failed:
		t.Fatal(err)
	default:
	}
}

// compare holds each history to the log, and returns how many events there were and how often
// something was wrong.
func (rs *readers) compare(t *testing.T, logs map[string]*record) (events, violations int) {
	t.Helper()
	for _, r := range rs.all {
		s := r.history.seen(r.conversation)
		if s.Seq != logs[r.conversation].last() {
			violations++
			t.Errorf("%s has %d events of %d", r.name, s.Seq, logs[r.conversation].last())
		}
		if d := logs[r.conversation].differs(s); d != "" {
			violations++
			t.Errorf("%s: %s", r.name, d)
		}
		events += int(s.Seq)
	}
	return events, violations
}

// events is how many all have had so far.
func (rs *readers) events() (n int) {
	for _, r := range rs.all {
		n += int(r.history.last())
	}
	return n
}

// waits is how many waits were answered.
func (rs *readers) waits() (n int) {
	for _, r := range rs.all {
		n += int(r.waits.Load())
	}
	return n
}
