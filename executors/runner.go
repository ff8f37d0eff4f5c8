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

// errStopping is why agents are told to end when a drain has no more time.
var errStopping = errors.New("the executor is stopping")

// settleTimeout bounds giving a claim back: one that cannot be by then lapses.
const settleTimeout = 10 * time.Second

// hurriedTimeout is the same once the drain has no more time.
const hurriedTimeout = 2 * time.Second

// runner is one Run.
//
//	registration --> offers --> seat: claim --> agent at work, renewal, contact --> settle
//	           \--> blueprints
//	conversations (pull) ------> seat
type runner struct {
	client parley.Client
	agent  parley.Agent
	opts   Options
	log    *slog.Logger

	life       context.Context // of the agents at work; its cause says why it ended
	cut        context.CancelCauseFunc
	registered chan struct{} // closed when the hub has taken the registration
	fresh      chan struct{} // a token: it has taken another one
	begun      chan struct{} // a token: a turn has begun
	room       *room         // for the turns that are worked on

	mu      sync.Mutex // guards the fields below
	heardAt time.Time  // when the hub has answered last
	closed  bool       // nothing is started any more
	failure error      // why nothing can be done any more
	seats   map[seat]*line
	claims  map[string]*held
	named   []*held // the claims of which the last registration said that they go on
	strays  int     // agents that have not returned though their turns are over
	work    sync.WaitGroup
}

func newRunner(e *Executor) *runner {
	return &runner{
		client: e.client, agent: e.agent, opts: e.opts, log: e.opts.Logger,
		registered: make(chan struct{}), fresh: make(chan struct{}, 1), begun: make(chan struct{}, 1),
		room:  newRoom(e.opts.Capacity),
		seats: map[seat]*line{}, claims: map[string]*held{},
	}
}

func (r *runner) run(ctx context.Context) error {
	if len(r.opts.Blueprints) > 0 && r.opts.Mode != parley.ModePush {
		return parley.Refuse(parley.ErrValidationFailed, "the sessions of blueprints are offered, and not looked for",
			"the mode push")
	}
	taking, end := context.WithCancel(ctx) // while turns are taken
	defer end()
	r.life, r.cut = context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.cut(nil)
	listening, deaf := context.WithCancel(context.WithoutCancel(ctx)) // while the registration stands
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
	others.Go(func() { stopOn(r.present(taking, beside)) })
	if r.opts.watches {
		others.Go(func() { r.keepContact(beside) })
	}
	if r.opts.Mode == parley.ModePull {
		r.start(func() { stopOn(r.look(taking)) })
	}
	<-taking.Done()
	err := r.drain()
	quiet()
	others.Wait()
	r.leave(listening)
	deaf()
	registration.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failure, err)
}

// fail ends the work at once: nothing can be done any more.
func (r *runner) fail(err error) {
	r.mu.Lock()
	r.failure = cmp.Or(r.failure, err)
	r.mu.Unlock()
	r.cut(err)
}

// start runs f on a goroutine that drain waits for; false when nothing is started any more.
func (r *runner) start(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.work.Go(f)
	return true
}

// drain waits for the turns under way, then tells their agents to end.
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
	<-ended // Grace and settleTimeout bound it
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.strays > 0 {
		return fmt.Errorf("%d agents have not returned though their turns are over", r.strays)
	}
	return nil
}

// mends reports whether the same call may succeed later. A client says ErrUnavailable only when it or the hub in its process has ended.
func mends(err error) bool {
	return parley.ErrorRowOf(err).Retryable && !errors.Is(err, parley.ErrUnavailable)
}

// again makes a call until it succeeds, is refused, or ctx ends, which gives its cause.
func (r *runner) again(ctx context.Context, call func() error) error {
	p := r.opts.newPauses()
	for {
		err := call()
		if err == nil || !mends(err) {
			return err
		}
		r.log.Debug("tried again", "error", err)
		if cause := pause(ctx, p.next()); cause != nil {
			return errors.Join(cause, err)
		}
	}
}
