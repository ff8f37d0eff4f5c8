package workload

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/torture/ledger"
)

const (
	// settleTime detects a hang at the end of a test.
	settleTime = 5 * time.Minute
	// shortRest is the longest pause of a user between two hubs.
	shortRest = 50 * time.Millisecond
	// pollTime is the interval at which Await looks at the number of appends.
	pollTime = 5 * time.Millisecond
)

// Caller makes calls on one connection to a hub.
type Caller struct {
	*hubproc.Caller[struct{}]
	// Hub is the number of the hub.
	Hub int
	// Away returns hubproc.ErrGone for the answer of a hub that stops or lost its log, after which
	// the user continues with another hub. It returns other errors as they are.
	Away func(error) error
}

// Hubs connects users to hubs, which have numbers from 1.
type Hubs interface {
	// Next returns the hub for a user that left the hub last, or a new user (0). It may wait. Once
	// done is closed, it returns 0.
	Next(last int, done <-chan struct{}) int
	// Dial connects a user to a hub.
	Dial(hub int, user string) (*Caller, error)
	// Left returns nil if a fault explains the error with which a user left a hub, else an error.
	Left(hub int, err error) error
}

// Config is the size of a workload.
type Config struct {
	// Groups of conversations, each with so many Writers and Closers, and one reader.
	Groups, Writers, Closers int
	// Length of a conversation in events, after which it is closed, by group. The second and later
	// conversations are up to twice as long.
	Length func(group int) int64
	// Stays is the average number of steps after which a user connects to another hub; 0 is no limit.
	Stays int
	// OneHub: every read sees every earlier append. With several hubs that is only true for the
	// events that the reader names, so readers name all that any user knows.
	OneHub bool
}

// Stage is the progress of a test.
type Stage int

// The stages of a test.
const (
	Running Stage = iota
	Over          // users write nothing new
	Closing       // users create no conversation, and closers close the open ones
	Ended         // all users stop
)

// World is all users of a set of hubs.
type World struct {
	Config
	t        testing.TB
	hubs     Hubs
	recorder history.Recorder

	writers  []*writer
	readers  []*reader
	closers  []*closer
	speaking sync.WaitGroup // writers
	users    sync.WaitGroup // all users
	failed   chan error     // the first unexpected error
	ended    chan struct{}  // closed at the stage Ended

	// Appends that were acknowledged for the first time, reads that were answered, and appends that
	// were refused because the conversation was closed.
	acks, reads, shut atomic.Int64

	mu      sync.Mutex       // guards the fields below
	known   map[string]int64 // the last seq of each conversation that any user knows
	stage   Stage
	changed chan struct{} // closed when a conversation is new, or the stage changes
}

// New starts the users. They stop at the end of the test: before the hubs that were started before,
// and after those that are started later.
func New(t testing.TB, hubs Hubs, size Config) *World {
	t.Helper()
	w := &World{
		Config: size, t: t, hubs: hubs, known: map[string]int64{},
		failed: make(chan error, 1), ended: make(chan struct{}), changed: make(chan struct{}),
	}
	t.Cleanup(w.End)
	for g := range size.Groups {
		for i := range size.Writers {
			a := &writer{world: w, id: writerID(g, i), group: g, turns: map[string]int64{}}
			w.writers = append(w.writers, a)
			w.speaking.Add(1)
			w.Go(func() {
				defer w.speaking.Done()
				w.serve(a)
			})
		}
		for i := range size.Closers {
			e := &closer{world: w, id: closerID(g, i), group: g}
			w.closers = append(w.closers, e)
			w.Serve(e)
		}
		r := &reader{world: w, id: fmt.Sprintf("r%d", g), group: g, seen: ledger.Seen{}}
		w.readers = append(w.readers, r)
		w.Serve(r)
	}
	return w
}

func writerID(group, i int) string { return fmt.Sprintf("w%d.%d", group, i) }
func closerID(group, i int) string { return fmt.Sprintf("end%d.%d", group, i) }

// ConversationID is the id of the conversation n of a group.
func ConversationID(group, n int) string { return fmt.Sprintf("g%d-%d", group, n) }

// Go starts a goroutine that ends before the world does.
func (w *World) Go(f func()) { w.users.Go(f) }

// Stage returns the present stage.
func (w *World) Stage() Stage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stage
}

// Changed is closed when a conversation is new, or the stage changes. A user calls it before it
// looks at either.
func (w *World) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Known returns the last seq that any user knows of a conversation; 0 if it does not exist.
func (w *World) Known(id string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[id]
}

// AllKnown returns Known of all conversations.
func (w *World) AllKnown() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.known)
}

// Note records the last seq of a conversation that a user knows.
func (w *World) Note(id string, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known[id] == 0 && seq > 0 {
		w.wakeLocked()
	}
	w.known[id] = max(w.known[id], seq)
}

func (w *World) enter(s Stage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s == Ended && w.stage != Ended {
		close(w.ended)
	}
	w.stage = s
	w.wakeLocked()
}

func (w *World) wakeLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Fail records the first unexpected error of a user, with which Await and Settle fail the test.
func (w *World) Fail(err error) {
	select {
	case w.failed <- err:
	default: // not the first one
	}
}

// User does one step after another on a connection. A step that returns hubproc.ErrGone is
// continued at another hub.
type User interface {
	Name() string
	Step(c *Caller) (done bool, err error)
}

// Serve starts a user.
func (w *World) Serve(u User) { w.Go(func() { w.serve(u) }) }

func (w *World) serve(u User) {
	for hub := w.hubs.Next(0, w.ended); hub > 0; hub = w.hubs.Next(hub, w.ended) {
		done, err := w.visit(u, hub)
		if err := w.hubs.Left(hub, err); err != nil {
			w.Fail(fmt.Errorf("%s at hub %d: %w", u.Name(), hub, err))
			return
		}
		if done || w.Stage() == Ended {
			return
		}
		time.Sleep(rand.N(shortRest))
	}
}

// visit connects a user to a hub, until it is done, its stay is over or the hub is gone.
func (w *World) visit(u User, hub int) (done bool, err error) {
	c, err := w.hubs.Dial(hub, u.Name())
	if err != nil {
		return false, err
	}
	defer c.Close()
	for !done && err == nil && (w.Stays == 0 || rand.IntN(w.Stays) > 0) {
		if w.Stage() == Ended {
			return false, nil
		}
		done, err = u.Step(c)
	}
	return done, err
}

// create creates a conversation of a group, unless it exists.
func (w *World) create(c *Caller, group, n int) error {
	var seats []string
	for i := range w.Writers {
		seats = append(seats, writerID(group, i))
	}
	for i := range w.Closers {
		seats = append(seats, closerID(group, i))
	}
	return w.Create(c, ConversationID(group, n), seats...)
}

// Create creates an open conversation, unless it exists.
func (w *World) Create(c *Caller, id string, seats ...string) error {
	if w.Known(id) > 0 {
		return nil
	}
	p := parley.CreateConversationParams{
		ConversationID: id, Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	}
	for _, s := range seats {
		p.Participants = append(p.Participants, parley.Participant{ID: s, Kind: parley.KindAgent})
	}
	var made parley.Snapshot
	err := c.Call(methods.CreateConversation, p, &made)
	switch {
	case err == nil:
		w.Note(id, made.LatestSeq)
	case errors.Is(err, parley.ErrAlreadyExists):
		w.Note(id, 1)
	default:
		return c.Away(err)
	}
	return nil
}

// Done returns the number of appends that were acknowledged, and Reads that of answered reads.
func (w *World) Done() int64  { return w.acks.Load() }
func (w *World) Reads() int64 { return w.reads.Load() }

// Failure returns the first unexpected error, once there is one.
func (w *World) Failure() <-chan error { return w.failed }

// Await waits for n more appends. It fails the test if a user failed, or after a time that only a
// hang exceeds.
func (w *World) Await(n int64, hang time.Duration) {
	w.t.Helper()
	from, late := w.Done(), time.After(hang)
	for w.Done() < from+n {
		select {
		case err := <-w.failed:
			w.t.Fatal(err)
		case <-late:
			w.t.Fatalf("%d appends in %s, expected %d", w.Done()-from, hang, n)
		case <-time.After(pollTime):
		}
	}
}

// Settle waits until each user got the answers that are missing and all conversations are closed.
func (w *World) Settle() {
	w.t.Helper()
	late := time.After(settleTime)
	for _, s := range []struct {
		stage Stage
		all   *sync.WaitGroup
	}{{Over, &w.speaking}, {Closing, &w.users}} {
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
		case <-late:
			w.t.Fatalf("%s after the last fault a user still waits for an answer", settleTime)
		}
	}
	select {
	case err := <-w.failed:
		w.t.Fatal(err)
	default:
	}
}

// End stops all users and waits for them.
func (w *World) End() {
	w.enter(Ended)
	w.users.Wait()
}

// Said returns all messages with their authors.
func (w *World) Said() iter.Seq2[string, *ledger.Said] {
	return func(yield func(string, *ledger.Said) bool) {
		for _, a := range w.writers {
			for _, m := range a.said {
				if !yield(a.id, m) {
					return
				}
			}
		}
		for _, e := range w.closers {
			for _, m := range e.said {
				if !yield(e.id, m) {
					return
				}
			}
		}
	}
}
