package conv

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// Lifecycle is whether an engine works, drains, failed or ended. It counts the commands and goroutines
// for which the end waits.
type Lifecycle struct {
	log      *slog.Logger
	ctx      context.Context // ends with Stop
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	draining chan struct{}
	failed   chan struct{}

	mu      sync.Mutex // guards the fields below
	drained bool
	failure error
	ops     int       // commands that are not answered
	quiet   sync.Cond // on mu: ops is 0 again
}

func (l *Lifecycle) init(log *slog.Logger) {
	l.log, l.draining, l.failed, l.quiet.L = log, make(chan struct{}), make(chan struct{}), &l.mu
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// Context ends when the hub closes.
func (l *Lifecycle) Context() context.Context { return l.ctx }

// Go runs f on a goroutine that Stop waits for.
func (l *Lifecycle) Go(f func()) { l.wg.Go(f) }

// Draining is closed when the hub drains.
func (l *Lifecycle) Draining() <-chan struct{} { return l.draining }

// Failed is closed when the outcome of a commit is unknown. Then the journal takes no more writes.
func (l *Lifecycle) Failed() <-chan struct{} { return l.failed }

// Err returns the error with which the engine failed, or nil.
func (l *Lifecycle) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Serving returns why the hub takes no calls, or nil.
func (l *Lifecycle) Serving() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(l.failure, journal.ErrFormat):
		return errNewer
	case l.failure != nil:
		return parley.Refuse(parley.ErrUnavailable,
			"the log takes no more writes until the hub is started again", "")
	case l.drained:
		return ErrDraining
	}
	return nil
}

// ErrDraining is returned by calls once the hub drains.
var ErrDraining = parley.Refuse(parley.ErrUnavailable, "the hub is about to stop", "")

func (l *Lifecycle) fail(err error) {
	l.mu.Lock()
	first := l.failure == nil
	if first {
		l.failure = err
		close(l.failed)
	}
	l.mu.Unlock()
	if first {
		l.log.Error("the outcome of a commit is unknown: no more writes", "error", err)
	}
}

// Drain makes the engine refuse new requests with ErrDraining. Decided appends are still answered.
func (l *Lifecycle) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.drained {
		l.drained = true
		close(l.draining)
	}
}

// Begin counts a command, for which Engine.Close waits until End. It fails when the hub drains.
func (l *Lifecycle) Begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drained {
		return ErrDraining
	}
	l.ops++
	return nil
}

// End ends what Begin has started.
func (l *Lifecycle) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ops--; l.ops == 0 {
		l.quiet.Broadcast()
	}
}

// awaitCommands waits until no command is under way.
func (l *Lifecycle) awaitCommands() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.ops > 0 {
		l.quiet.Wait()
	}
}

// Stop ends the goroutines of the engine and waits for them. Unlike Engine.Close it saves nothing.
func (l *Lifecycle) Stop() {
	l.cancel()
	l.wg.Wait()
}
