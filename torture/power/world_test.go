package power

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/torture/hubproc"
)

const (
	groups       = 8 // of conversations that are open at once
	closing      = 4 // of them, how many have conversations that are closed under their writers
	closes       = 2 // how many conversations of such a group are closed in a season
	groupWriters = 8
	uploaders    = 2

	// minRate is the load, in acknowledged appends per second, below which a round proves nothing, and minReads the reads in one.
	minRate  = 30
	minReads = 50
	// warmUp is how many appends come before the load is measured: until then a machine with much to do is busy with connections.
	warmUp     = groups * groupWriters
	warmUpTime = time.Minute
	// settleTime bounds how long it takes until nobody waits for an answer any more.
	settleTime = 2 * time.Minute
)

// auditor is who makes conversations and reads them at the end.
const auditor = "auditor"

// world is a hub that is ended and started again, and all who use it.
type world struct {
	t        *testing.T
	start    func() *hubproc.Hub
	recorder history.Recorder
	ids      []string // of all conversations

	writers []*writer
	readers []*reader
	closers []*closer
	bringer []*uploader
	users   sync.WaitGroup
	failed  chan error // the first thing that was not as expected

	acks, target atomic.Int64 // appends acknowledged for the first time, and the count at which reached is told, once; 0 is none
	reached      chan struct{}
	reads, shut  atomic.Int64 // reads that were answered, and appends that were refused because of a close

	// cutOff counts appends that a hub which was stopped has not answered, and unsaid those of them that it has made.
	cutOff, unsaid atomic.Int64

	mu      sync.Mutex
	stopped map[int]bool // the lives that ended by SIGTERM
	now     moment
	changed chan struct{} // closed when now is another
}

// moment is what users know of their world.
type moment struct {
	hub    *hubproc.Hub
	life   int  // which hub it is: 1, 2, ...
	harmed bool // it is about to end
	season int  // which conversations are in use
	over   bool // nothing new is begun
	ended  bool // the test has ended
}

// newWorld starts a hub, and everybody who uses it.
func newWorld(t *testing.T, start func() *hubproc.Hub) *world {
	t.Helper()
	w := &world{t: t, start: start, failed: make(chan error, 1), reached: make(chan struct{}, 1), changed: make(chan struct{}), stopped: map[int]bool{}}
	t.Cleanup(func() { // after the hub was killed
		w.change(func(m *moment) { m.ended = true })
		w.users.Wait()
	})
	w.restart()
	w.newSeason()
	for g := range groups {
		for i := range groupWriters {
			w.writers = append(w.writers, &writer{world: w, id: writerID(g, i), group: g, turns: map[string]int64{}})
			serve(w, w.writers[len(w.writers)-1])
		}
		w.readers = append(w.readers, newReader(w, g))
		serve(w, w.readers[g])
	}
	for g := range closing {
		for i := range 2 {
			w.closers = append(w.closers, &closer{world: w, id: closerID(g, i), group: g})
			serve(w, w.closers[len(w.closers)-1])
		}
	}
	for i := range uploaders {
		w.bringer = append(w.bringer, &uploader{world: w, id: uploaderID(i)})
		serve(w, w.bringer[i])
	}
	return w
}

func writerID(group, i int) string { return fmt.Sprintf("w%d.%d", group, i) }
func closerID(group, i int) string { return fmt.Sprintf("end%d.%d", group, i) }
func uploaderID(i int) string      { return fmt.Sprintf("files%d", i) }

// conversationID names a conversation of a group: each season has its own, and the ones after a close have the next number.
func conversationID(season, group, n int) string { return fmt.Sprintf("s%d-g%d-%d", season, group, n) }
func filesID(season int) string                  { return fmt.Sprintf("s%d-files", season) }

func (w *world) look() (moment, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.changed
}

func (w *world) change(f func(*moment)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.now)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) fail(err error) {
	select {
	case w.failed <- err:
	default: // the first one says it
	}
}

// user does one thing after another over a connection. hubproc.ErrGone means that the connection is, and that it goes on with the next hub.
type user interface {
	name() string
	step(c *caller) (done bool, err error)
}

// serve lets a user go on until it is done.
func serve(w *world, u user) {
	w.users.Go(func() {
		if err := w.use(u); err != nil {
			w.fail(fmt.Errorf("%s: %w", u.name(), err))
		}
	})
}

func (w *world) use(u user) error {
	life := 0
	for {
		m := w.next(life)
		if m.ended {
			return nil
		}
		life = m.life
		done, err := w.visit(u, m)
		now, _ := w.look()
		harmed := now.life > life || now.harmed || now.ended
		switch {
		case errors.Is(err, hubproc.ErrGone) && !harmed:
			return errors.New("the connection ended, and nobody had harmed the hub")
		case errors.Is(err, parley.ErrInternal) && harmed: // it has lost its disk, and says so
		case err != nil && !errors.Is(err, hubproc.ErrGone):
			return err
		case done:
			return nil
		}
	}
}

// next waits for a hub after the one of a life.
func (w *world) next(life int) moment {
	for {
		m, changed := w.look()
		if m.life > life || m.ended {
			return m
		}
		<-changed
	}
}

// visit lets a user use the hub of a moment as long as it can.
func (w *world) visit(u user, m moment) (done bool, err error) {
	c, err := dial(m.hub.URL, u.name())
	if err != nil {
		return false, err
	}
	defer c.Close()
	c.life = m.life
	for !done && err == nil {
		if m, _ := w.look(); m.ended {
			return false, hubproc.ErrGone
		}
		done, err = u.step(c)
	}
	return done, err
}

// acked counts an append that is new.
func (w *world) acked() {
	n, target := w.acks.Add(1), w.target.Load()
	if target > 0 && n >= target && w.target.CompareAndSwap(target, 0) {
		w.reached <- struct{}{}
	}
}

// load waits until so many more appends were acknowledged, and gives the rate once all are connected. One that is too small fails the test.
func (w *world) load(least int64) float64 {
	w.t.Helper()
	w.await(warmUp, warmUpTime)
	start, reads := time.Now(), w.reads.Load()
	w.await(least, time.Duration(least)*time.Second/minRate)
	if n := w.reads.Load() - reads; n < minReads {
		w.t.Fatalf("%d reads beside %d appends: too few to prove anything", n, least)
	}
	return float64(least) / time.Since(start).Seconds()
}

// await waits until n more appends were acknowledged, which must be within a time.
func (w *world) await(n int64, within time.Duration) {
	w.t.Helper()
	from := w.acks.Load()
	w.target.Store(from + n)
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-w.reached:
	case err := <-w.failed:
		w.t.Fatal(err)
	case <-late.C:
		w.t.Fatalf("%d appends in %s, expected %d: too little to prove anything", w.acks.Load()-from, within, n)
	}
}

// harm says that the hub is about to end.
func (w *world) harm() *hubproc.Hub {
	w.change(func(m *moment) { m.harmed = true })
	return w.now.hub // it belongs to the goroutine of the test
}

// wasStopped reports whether a hub was ended by SIGTERM.
func (w *world) wasStopped(life int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped[life]
}

// restart starts the next hub.
func (w *world) restart() {
	w.t.Helper()
	h := w.start()
	w.change(func(m *moment) { m.hub, m.life, m.harmed = h, m.life+1, false })
}

// newSeason makes the conversations that are used from now on.
func (w *world) newSeason() {
	w.t.Helper()
	c := w.audit()
	defer c.Close()
	season := w.now.season + 1
	for g := range groups {
		for n := range conversationsOf(g) {
			w.create(c, conversationID(season, g, n), seats(g))
		}
	}
	var bringers []string
	for i := range uploaders {
		bringers = append(bringers, uploaderID(i))
	}
	w.create(c, filesID(season), bringers)
	w.change(func(m *moment) { m.season = season })
}

// conversationsOf is how many conversations a group has in a season.
func conversationsOf(group int) int {
	if group < closing {
		return closes + 1
	}
	return 1
}

// seats are those who speak in the conversations of a group.
func seats(group int) []string {
	var ids []string
	for i := range groupWriters {
		ids = append(ids, writerID(group, i))
	}
	if group < closing {
		ids = append(ids, closerID(group, 0), closerID(group, 1))
	}
	return ids
}

// audit connects as the auditor.
func (w *world) audit() *caller {
	w.t.Helper()
	c, err := dial(w.now.hub.URL, auditor)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) create(c *caller, id string, seats []string) {
	w.t.Helper()
	p := parley.CreateConversationParams{
		ConversationID: id,
		Policy:         &parley.Policy{Kind: parley.PolicyOpen},
		Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	}
	for _, s := range seats {
		p.Participants = append(p.Participants, parley.Participant{ID: s, Kind: parley.KindAgent})
	}
	if err := c.Call(parley.MethodCreateConversation, p, &parley.Snapshot{}); err != nil {
		w.t.Fatalf("create %s: %v", id, err)
	}
	w.ids = append(w.ids, id)
}

// settle lets everybody get the answers that are still missing, and waits for them.
func (w *world) settle() {
	w.t.Helper()
	w.change(func(m *moment) { m.over = true })
	done := make(chan struct{})
	go func() {
		w.users.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(settleTime):
		w.t.Fatalf("%s after the last restart somebody still waits for an answer", settleTime)
	}
	select {
	case err := <-w.failed:
		w.t.Fatal(err)
	default:
	}
}
