package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/torture/hubproc"
)

const (
	groups       = 6 // of conversations; each has one that is open
	groupWriters = 4
	groupClosers = 2

	// A conversation is closed after leastLength events, or up to twice as many.
	leastLength = 60
	// settleTime bounds how long it takes until nobody waits for an answer any more.
	settleTime = 2 * time.Minute
	// shortRest is the longest rest of who goes to another hub.
	shortRest = 50 * time.Millisecond
	// A user goes to another hub after each so many things, on average.
	stays = 64
)

// auditor is who reads at the end.
const auditor = "auditor"

// stage is how far the test is.
type stage int

const (
	running stage = iota
	over          // nothing new is said
	closing       // there are no more conversations, and those that are open are closed
	ended         // everybody stops at once
)

// world is everybody who uses a cluster.
type world struct {
	t        testing.TB
	c        *cluster
	recorder history.Recorder

	writers     []*writer
	readers     []*reader
	closers     []*closer
	subscribers []*subscriber
	speaking    sync.WaitGroup // writers
	users       sync.WaitGroup // all
	failed      chan error     // the first thing that was not as expected

	acks, reads, shut atomic.Int64 // appends acknowledged for the first time, reads answered, and appends that were refused because of a close

	mu      sync.Mutex       // guards the fields below
	known   map[string]int64 // the last seq of each conversation that anybody was told of
	stage   stage
	changed chan struct{} // closed when a conversation is new, or the stage is
}

func newWorld(t testing.TB, c *cluster) *world {
	t.Helper()
	w := &world{t: t, c: c, failed: make(chan error, 1), known: map[string]int64{}, changed: make(chan struct{})}
	t.Cleanup(func() { // before the machines end
		w.enter(ended)
		w.users.Wait()
	})
	for g := range groups {
		for i := range groupWriters {
			a := &writer{world: w, id: writerID(g, i), group: g, turns: map[string]int64{}}
			w.writers = append(w.writers, a)
			w.speaking.Add(1)
			w.users.Go(func() {
				defer w.speaking.Done()
				w.serve(a)
			})
		}
		for i := range groupClosers {
			e := newCloser(w, g, i)
			w.closers = append(w.closers, e)
			w.users.Go(func() { w.serve(e) })
		}
		r := newReader(w, g)
		w.readers = append(w.readers, r)
		w.users.Go(func() { w.serve(r) })
		w.subscribers = append(w.subscribers, newSubscriber(w, g))
		w.users.Go(w.subscribers[g].run)
	}
	return w
}

func writerID(group, i int) string           { return fmt.Sprintf("w%d.%d", group, i) }
func closerID(group, i int) string           { return fmt.Sprintf("end%d.%d", group, i) }
func conversationID(group int, n int) string { return fmt.Sprintf("g%d-%d", group, n) }
func (w *world) look() stage                 { w.mu.Lock(); defer w.mu.Unlock(); return w.stage }
func (w *world) knows(id string) (seq int64) { w.mu.Lock(); defer w.mu.Unlock(); return w.known[id] }
func (w *world) wasChanged() <-chan struct{} { w.mu.Lock(); defer w.mu.Unlock(); return w.changed }

// tell notes the last seq that somebody was told of.
func (w *world) tell(id string, seq int64) {
	w.mu.Lock()
	before := w.known[id]
	w.known[id] = max(before, seq)
	w.mu.Unlock()
	if before == 0 && seq > 0 {
		w.change(func() {})
	}
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) fail(err error) {
	select {
	case w.failed <- err:
	default: // the first one says it
	}
}

// user does one thing after another over a connection. hubproc.ErrGone means that it goes on at another hub.
type user interface {
	name() string
	step(c *caller) (done bool, err error)
}

// serve lets a user go on until it is done.
func (w *world) serve(u user) {
	if err := w.use(u); err != nil {
		w.fail(fmt.Errorf("%s: %w", u.name(), err))
	}
}

func (w *world) enter(s stage) { w.change(func() { w.stage = s }) }

func (w *world) use(u user) error {
	for hub := 1 + rand.IntN(hubs); ; hub = 1 + (hub+rand.IntN(hubs-1))%hubs { // another one
		if w.look() == ended {
			return nil
		}
		done, err := w.visit(u, hub)
		if err != nil && !errors.Is(err, hubproc.ErrGone) {
			return fmt.Errorf("at hub %d: %w", hub, err)
		}
		if done {
			return nil
		}
		time.Sleep(rand.N(shortRest))
	}
}

// visit lets a user use a hub for a while.
func (w *world) visit(u user, hub int) (done bool, err error) {
	c, err := w.c.dial(hub, u.name())
	if err != nil {
		return false, err
	}
	defer c.Close()
	for !done && err == nil && rand.IntN(stays) > 0 {
		if w.look() == ended {
			return false, nil
		}
		done, err = u.step(c)
	}
	return done, err
}

// create makes a conversation, unless it is there.
func (w *world) create(c *caller, group, n int) error {
	id := conversationID(group, n)
	if w.knows(id) > 0 {
		return nil
	}
	p := parley.CreateConversationParams{
		ConversationID: id, Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	}
	for i := range groupWriters {
		p.Participants = append(p.Participants, parley.Participant{ID: writerID(group, i), Kind: parley.KindAgent})
	}
	for i := range groupClosers {
		p.Participants = append(p.Participants, parley.Participant{ID: closerID(group, i), Kind: parley.KindAgent})
	}
	var made parley.Snapshot
	err := c.Call(parley.MethodCreateConversation, p, &made)
	switch {
	case err == nil:
		w.tell(id, made.LatestSeq)
	case errors.Is(err, parley.ErrAlreadyExists):
		w.tell(id, 1)
	default:
		return c.away(err)
	}
	return nil
}

// done counts appends that were acknowledged, and failure is the first thing that was not as expected.
func (w *world) done() int64           { return w.acks.Load() }
func (w *world) failure() <-chan error { return w.failed }

// settle lets everybody get the answers that are still missing, has what is open closed, and waits for all.
func (w *world) settle() {
	w.t.Helper()
	late := time.NewTimer(settleTime)
	defer late.Stop()
	for _, s := range []struct {
		stage stage
		all   *sync.WaitGroup
	}{{over, &w.speaking}, {closing, &w.users}} {
		w.enter(s.stage)
		done := make(chan struct{})
		go func() { // ends at the end of the test at the latest
			s.all.Wait()
			close(done)
		}()
		select {
		case <-done:
		case err := <-w.failed:
			w.t.Fatal(err)
		case <-late.C:
			w.t.Fatalf("%s after the last fault somebody still waits for an answer", settleTime)
		}
	}
	select {
	case err := <-w.failed:
		w.t.Fatal(err)
	default:
	}
}
