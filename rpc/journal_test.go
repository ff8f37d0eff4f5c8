package rpc_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// lostJournal is a journal that others share, and that is out of reach at times.
type lostJournal struct {
	journal.Journal
	lost *atomic.Bool
}

func (j lostJournal) Ready() error { return j.Reached() }

func (j lostJournal) Reached() error {
	if j.lost.Load() {
		return journal.ErrUnavailable
	}
	return nil
}

// TestHubApart: a hub that has lost its journal for a while notifies its sockets once, and they
// stay open. They get the events that follow when the journal is back.
func TestHubApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		w := &world{
			t: t, journal: memory.New(), ids: map[string]int{}, peers: memory.NewPeers().Join(),
			wrap: func(j journal.Journal) journal.Journal { return lostJournal{j, &lost} },
		}
		w.start()
		t.Cleanup(w.end)
		ann := w.as("ann")
		ann.create(`{"conversationId":"case","participants":[{"id":"ann","kind":"human"}]}`)
		ann.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
		notified := func() (n int) {
			synctest.Wait()
			for _, f := range ann.take() {
				if f == `{"jsonrpc":"2.0","method":"closing","params":{"reason":"the hub does not reach the log that it shares",`+
					`"stays":true}}` {
					n++
				}
			}
			return n
		}
		for _, way := range []struct {
			lost     bool
			lasts    time.Duration
			notified int
		}{
			{true, 2 * time.Second, 0}, // another server leads
			{false, time.Second, 0},
			{true, 2900 * time.Millisecond, 0},
			{true, 2 * time.Second, 1},
			{true, time.Minute, 0},
			{false, time.Minute, 0},
			{true, 5 * time.Second, 1},
		} {
			lost.Store(way.lost)
			time.Sleep(way.lasts)
			if got := notified(); got != way.notified {
				t.Errorf("lost %v for %v: notified %d times, want %d", way.lost, way.lasts, got, way.notified)
			}
		}
		_, err := wire.DialStream(t.Context(), w.url(), &wire.DialOptions{HTTPClient: w.client(), Header: bearer(devToken)})
		if !errors.Is(err, parley.ErrUnavailable) {
			t.Errorf("a new socket meanwhile: %v", err)
		}
		lost.Store(false)
		ann.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"hello"},"finality":"turn"}`)
		ann.find("the event", func(f string) bool {
			return strings.Contains(f, `"method":"event"`) &&
				strings.Contains(f, "hello")
		})
	})
}

// TestAloneIsNotApart: a single hub never sends clients to another one.
func TestAloneIsNotApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		w := &world{t: t, journal: memory.New(), ids: map[string]int{},
			wrap: func(j journal.Journal) journal.Journal { return lostJournal{j, &lost} }}
		w.start()
		t.Cleanup(w.end)
		ann := w.as("ann")
		lost.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := ann.take(); len(got) > 0 {
			t.Errorf("notified with %q", got)
		}
	})
}
