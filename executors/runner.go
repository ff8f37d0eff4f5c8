package executors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// errStopping is the cause of the agents' ctx when a drain has no time left.
var errStopping = errors.New("the executor is stopping")

// settleTimeout limits the release of a claim. After that the claim expires.
const settleTimeout = 10 * time.Second

// hurriedTimeout is the limit after a drain has no time left.
const hurriedTimeout = 2 * time.Second

// runner is one call of Run.
//
//	registration --> offers --> seat: claim --> agent at work, renewal, contact --> settle
//	           \--> blueprints
//	conversations (pull) ------> seat
type runner struct {
	client parley.Client
	agent  parley.Agent
	opts   Options
	log    *slog.Logger

	life       context.Context // of the running agents; has a cause
	cut        context.CancelCauseFunc
	registered chan struct{} // closed after the first registration
	fresh      chan struct{} // signals a new registration
	begun      chan struct{} // signals a new claim
	capacity   *capacity     // capacity for running turns

	mu      sync.Mutex // guards the fields below
	heardAt time.Time  // time of the last answer of the hub
	closed  bool       // no work is started any more
	failure error      // the error that ended Run
	seats   map[seat]*pendingOffer
	claims  map[string]*held
	named   []*held // the claims that the last registration listed
	strays  int     // agents that did not return in time
	work    sync.WaitGroup
}

func newRunner(e *Executor) *runner {
	return &runner{
		client: e.client, agent: e.agent, opts: e.opts, log: e.opts.Logger,
		registered: make(chan struct{}), fresh: make(chan struct{}, 1), begun: make(chan struct{}, 1),
		capacity: newCapacity(e.opts.Capacity),
		seats:    map[seat]*pendingOffer{}, claims: map[string]*held{},
	}
}

func (r *runner) run(ctx context.Context) error {
	if len(r.opts.Blueprints) > 0 && r.opts.Mode != parley.ModePush {
		return parley.Refuse(parley.ErrValidationFailed, "blueprints require offers of the hub",
			"the mode push")
	}
	taking, end := context.WithCancel(ctx) // until turns are no longer taken
	defer end()
	r.life, r.cut = context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.cut(nil)
	listening, deaf := context.WithCancel(context.WithoutCancel(ctx)) // until the registration ends
	defer deaf()
	beside, quiet := context.WithCancel(listening)
	defer quiet()
	stopOn := func(err error) {
		if err != nil {
			r.fail(err)
			end()
		}
	}
	var registration, others sync.WaitGroup
	registration.Go(func() { defer deaf(); stopOn(r.register(taking, listening)) })
	others.Go(func() { stopOn(r.registerBlueprints(taking, beside)) })
	if r.opts.watches {
		others.Go(func() { r.keepContact(beside) })
	}
	if r.opts.Mode == parley.ModePull {
		r.start(func() { stopOn(r.pollConversations(taking)) })
	}
	<-taking.Done()
	err := r.drain()
	quiet()
	others.Wait()
	r.unregisterBlueprints(listening)
	deaf()
	registration.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failure, err)
}

// fail ends all work at once.
func (r *runner) fail(err error) {
	r.mu.Lock()
	r.failure = cmp.Or(r.failure, err)
	r.mu.Unlock()
	r.cut(err)
}

// start starts a goroutine for which drain waits. It returns false after drain started.
func (r *runner) start(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.work.Go(f)
	return true
}

// drain waits for running turns, and then ends their agents.
func (r *runner) drain() error {
	r.mu.Lock()
	r.closed = true
	under := len(r.claims)
	r.mu.Unlock()
	if under > 0 && r.life.Err() == nil {
		r.log.Info("draining", "turns", under, "for", r.opts.Drain)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); r.work.Wait() }()
	t := time.NewTimer(r.opts.Drain)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
	case <-r.life.Done():
	}
	r.cut(errStopping)
	<-ended // limited by Grace and settleTimeout
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.strays > 0 {
		return fmt.Errorf("%d agents did not return after the end of their turns", r.strays)
	}
	return nil
}

// isTemporary reports whether the same call may succeed later. A client returns ErrUnavailable only
// when it or the hub in its process ended.
func isTemporary(err error) bool {
	return parley.ErrorRowOf(err).Retryable && !errors.Is(err, parley.ErrUnavailable)
}

// retry repeats a call until it succeeds, is refused, or ctx ends.
func (r *runner) retry(ctx context.Context, call func() error) error {
	p := r.opts.newPauses()
	for {
		err := call()
		if err == nil || !isTemporary(err) {
			return err
		}
		r.log.Debug("retrying", "error", err)
		if cause := pause(ctx, p.next()); cause != nil {
			return errors.Join(cause, err)
		}
	}
}
