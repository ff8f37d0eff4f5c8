package power

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/torture/workload"
)

const (
	uploaders = 2
	// minReads is the number of reads in a round below which it proves nothing.
	minReads = 50
	// hangTime detects a hang while a round waits for its appends.
	hangTime = 5 * time.Minute
	// callTime bounds a call: a hub that does not answer counts as gone.
	callTime = time.Minute
)

// size: the conversations of every second group are long.
var size = workload.Config{
	Groups: 8, Writers: 8, Closers: 2, OneHub: true, Length: func(group int) int64 { return 40 + 400*int64(group%2) },
}

// auditor is the agent that reads the logs at the end.
const auditor = "auditor"

// world is a hub that is killed and started again, with its users.
type world struct {
	*workload.World
	t       *testing.T
	start   func() *hubproc.Hub
	bringer []*uploader
	stopped map[int]bool // the lives that SIGTERM ended; only the goroutine of the test uses it

	mu      sync.Mutex // guards the fields below
	hub     *hubproc.Hub
	life    int           // the number of the hub: 1, 2, ...
	harmed  bool          // the hub is about to end
	started chan struct{} // closed when the next hub started
}

// newWorld starts a hub and its users.
func newWorld(t *testing.T, start func() *hubproc.Hub) *world {
	t.Helper()
	w := &world{t: t, start: start, stopped: map[int]bool{}, started: make(chan struct{})}
	w.World = workload.New(t, w, size) // ends after the hub is killed
	for i := range uploaders {
		w.bringer = append(w.bringer, newUploader(w, i))
		w.Serve(w.bringer[i])
	}
	w.restart()
	return w
}

// Next waits for a hub after the last one.
func (w *world) Next(last int, done <-chan struct{}) int {
	for {
		w.mu.Lock()
		life, started := w.life, w.started
		w.mu.Unlock()
		if life > last {
			return life
		}
		select {
		case <-started:
		case <-done:
			return 0
		}
	}
}

// Dial connects to the present hub, whose number may be later than the one that is asked for.
func (w *world) Dial(_ int, user string) (*workload.Caller, error) {
	w.mu.Lock()
	hub, life := w.hub, w.life
	w.mu.Unlock()
	c, err := dial(hub.URL, user)
	if err != nil {
		return nil, err
	}
	c.Hub = life
	return c, nil
}

// Left explains errors of a hub that is about to end or ended.
func (w *world) Left(hub int, err error) error {
	w.mu.Lock()
	harmed := w.life > hub || w.harmed
	w.mu.Unlock()
	switch {
	case errors.Is(err, hubproc.ErrGone) && !harmed && w.Stage() != workload.Ended:
		return errors.New("the connection ended, and nothing harmed the hub")
	case errors.Is(err, hubproc.ErrGone):
		return nil
	case errors.Is(err, parley.ErrInternal) && harmed: // it lost its disk, and says so
		return nil
	}
	return err
}

// dial connects to a hub.
func dial(url, agent string) (*workload.Caller, error) {
	ignore := func(*hubproc.Frame[struct{}]) {}
	c, err := hubproc.Dial(url, agent, ignore, hubproc.CallerOptions{DialTimeout: callTime, CallTimeout: callTime})
	if err != nil {
		return nil, err
	}
	return &workload.Caller{Caller: c, Away: away}, nil
}

// away returns hubproc.ErrGone for the answers of a hub that is about to end.
func away(err error) error {
	if errors.Is(err, parley.ErrUnavailable) || errors.Is(err, parley.ErrOutcomeUnknown) {
		return hubproc.ErrGone
	}
	return err
}

// harm announces that the hub is about to end.
func (w *world) harm() *hubproc.Hub {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.harmed = true
	return w.hub
}

// restart starts the next hub.
func (w *world) restart() {
	w.t.Helper()
	h := w.start()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hub, w.life, w.harmed = h, w.life+1, false
	close(w.started)
	w.started = make(chan struct{})
}

// audit connects the auditor.
func (w *world) audit() *workload.Caller {
	w.t.Helper()
	c, err := dial(w.hub.URL, auditor)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}
