package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/registration"
	"github.com/parleyhub/parley/internal/wire"
)

// withdrawTimeout bounds the time in which the end of a registration ends the offers.
const withdrawTimeout = 5 * time.Second

var (
	errRegistered = parley.Refuse(
		parley.ErrAlreadyExists,
		"this client is registered as an executor already",
		"one registration at a time",
	)
	errReplaced = parley.Refuse(
		parley.ErrAlreadyExists,
		"another connection has registered as this executor",
		"a separate executorId for each process",
	)
)

// RegisterExecutor registers on the connection of the calls, and again after each reconnect. Each
// time it yields Registered, with the current claims of holding, before the offers. Registered and
// RenewClaim report the claims that ended without a connection; ClaimEnded does not.
//
// A second registration of the same client returns ErrAlreadyExists. If another process registers
// the same executor, the loop ends with that error too. A late registration of this client itself,
// which was sent on a lost connection, does not end the loop. After the loop the hub offers no more
// turns; the claims that the executor holds remain valid.
func (c *Client) RegisterExecutor(
	ctx context.Context, p *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	q := value(p)
	return func(yield func(parley.ExecutorNotification, error) bool) {
		if err := c.execute(ctx, q, holding, yield); err != nil {
			yield(parley.ExecutorNotification{}, err)
		}
	}
}

// execute registers, and registers again, and yields notifications. It returns nil when yield
// returns false, and an error that a retry cannot repair.
func (c *Client) execute(
	ctx context.Context,
	p parley.RegisterExecutorParams,
	holding func() []string,
	yield func(parley.ExecutorNotification, error) bool,
) error {
	r := &executor{
		c:       c,
		params:  p,
		holding: holding,
		notices: registration.NewNotices(p.Capacity),
		over:    make(chan struct{}),
	}
	if !c.executor.CompareAndSwap(nil, r) {
		return errRegistered
	}
	defer c.executor.Store(nil)
	defer close(r.over)
	defer r.withdraw()
	for {
		registered, err := r.register(ctx)
		if err != nil {
			return err
		}
		if !yield(parley.ExecutorNotification{Registered: registered}, nil) {
			return nil
		}
		if more, err := r.attend(ctx, yield); !more || err != nil {
			return err
		}
	}
}

// executor is a registration over any number of connections.
type executor struct {
	c       *Client
	params  parley.RegisterExecutorParams
	holding func() []string
	notices *registration.Notices
	link    *link // the connection of the last attempt; nil before the first attempt

	stands atomic.Pointer[link] // the connection of the last successful registration
	astray []time.Time          // the times of registrations whose answers were lost
	over   chan struct{}        // closed at the end of the loop
}

// register registers when there is a connection.
func (r *executor) register(ctx context.Context) (*parley.RegisterExecutorResult, error) {
	c, pauses := r.c, r.c.newBackoff()
	for {
		l, err := c.awaitLink(ctx, c.firstSocket())
		if err != nil {
			return nil, err
		}
		r.link = l
		l.listen(r.notices)
		registered, err := r.say(ctx, r.params)
		if err == nil {
			r.stands.Store(l)
			l.known()
			return registered, nil
		}
		broken := errors.Is(err, wire.ErrBroken)
		if broken {
			r.astray = append(r.astray, time.Now())
		}
		own := errors.Is(err, parley.ErrAlreadyExists) && r.forgive()
		if c.hasEnded(ctx, err) || !broken && !own && !passes(err) {
			return nil, err
		}
		if err := c.pause(ctx, max(min(pauses.NextBackOff(), c.o.MaxBackoff), retryAfter(err))); err != nil {
			return nil, err
		}
	}
}

// unnamed are the methods that cannot name a claim. For them, the hub knows the participant of a
// claim by the connection that holds the claim.
var unnamed = map[string]bool{
	methods.GetConversation: true, methods.Tail: true, methods.WaitForChange: true, methods.GetUpdates: true,
	methods.GetGuidance: true,
	methods.Explain:     true, methods.SendNote: true, methods.PutAttachment: true, methods.GetAttachment: true,
	methods.StartSession: true, methods.GetSession: true, methods.StopSession: true,
}

// settleTimeout bounds how long such a call waits for the registration. The loop that registers may
// make the call itself, and must not wait for itself forever.
const settleTimeout = 5 * time.Second

// settle waits, on a new connection, until the executor of this client is registered there. Before
// that, the hub does not know which claims the connection holds.
func (c *Client) settle(ctx context.Context, s *socket, l *link) error {
	r := c.executor.Load()
	if r == nil || s != c.firstSocket() {
		return nil
	}
	timer := time.NewTimer(settleTimeout)
	defer timer.Stop()
	select {
	case <-l.registered:
	case <-l.lost: // as the call will find
	case <-r.over:
	case <-timer.C:
		l.known() // not once more
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return context.Cause(c.life)
	}
	return nil
}

// passes reports whether a registration that was refused with err can succeed later.
func passes(err error) bool {
	switch row := parley.ErrorRowOf(err); row.Err {
	case parley.ErrUnavailable, parley.ErrRateLimited, parley.ErrOutcomeUnknown, parley.ErrStorageFull:
		return true
	}
	return false
}

// say sends one registerExecutor on the connection.
func (r *executor) say(ctx context.Context, p parley.RegisterExecutorParams) (*parley.RegisterExecutorResult, error) {
	release, err := r.c.acquireCallSlot(ctx, r.c.firstSocket())
	if err != nil {
		return nil, err
	}
	p.Holding = r.c.claiming.With(r.holding)
	body, err := encode(p)
	if err != nil {
		release()
		return nil, err
	}
	raw, err := r.link.call(ctx, methods.RegisterExecutor, body, nil, release)
	if err != nil {
		return nil, err
	}
	registered := new(parley.RegisterExecutorResult)
	if err := json.Unmarshal(raw, registered); err != nil {
		return nil, fmt.Errorf("%w: result of %s: %w", parley.ErrInternal, methods.RegisterExecutor, err)
	}
	return registered, nil
}

// attend yields notifications until the connection is lost; then more is true.
func (r *executor) attend(
	ctx context.Context,
	yield func(parley.ExecutorNotification, error) bool,
) (more bool, err error) {
	for lost := false; ; {
		for _, n := range r.notices.Take() {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if !yield(n, nil) {
				return false, nil
			}
		}
		if lost {
			return true, r.whyLost()
		}
		select {
		case <-r.notices.Wake():
		case <-r.link.lost:
			lost = true // nothing more comes, but the last may not have been taken
		case <-ctx.Done():
			return false, ctx.Err()
		case <-r.c.life.Done():
			return false, context.Cause(r.c.life)
		}
	}
}

// withdraw ends the offers after the loop. The executor keeps its claims.
func (r *executor) withdraw() {
	if r.link == nil {
		return
	}
	r.link.listen(nil)
	if r.params.Mode != parley.ModePush || r.link.hasLost() {
		return
	}
	ctx, cancel := context.WithTimeout(r.c.life, withdrawTimeout)
	defer cancel()
	p := r.params
	p.Mode = parley.ModePull
	if _, err := r.say(ctx, p); err != nil { // they end with the connection
		r.c.o.Logger.Debug("withdraw as an executor", "executor", p.ExecutorID, "error", err)
	}
}

// listen sets the receiver of the notifications of a registration. nil discards them.
func (l *link) listen(n *registration.Notices) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notices = n
}

// notifyExecutor passes a notification to the loop of the registration.
func (l *link) notifyExecutor(err error, method string, n parley.ExecutorNotification) error {
	if err != nil {
		return fmt.Errorf("notification %s: %w", method, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notices != nil {
		l.notices.Add(n)
	}
	return nil
}

func (l *link) hasLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// whyLost returns an error if the client must not register again after a lost connection.
func (r *executor) whyLost() error {
	r.link.mu.Lock()
	defer r.link.mu.Unlock()
	if r.link.code != wire.CloseReplaced {
		return nil
	}
	if r.forgive() {
		return nil
	}
	return errReplaced
}

// astrayFor is how long a registration that was sent on a lost connection may still reach the hub.
// Operating systems send the rest of a closed socket for that long.
const astrayFor = 2 * time.Minute

// forgive reports whether the registration was possibly replaced by an earlier one of this client
// that reached the hub late. Each lost answer excuses one replacement.
func (r *executor) forgive() bool {
	r.astray = slices.DeleteFunc(r.astray, func(at time.Time) bool { return time.Since(at) > astrayFor })
	if len(r.astray) == 0 {
		return false
	}
	r.astray = r.astray[1:]
	return true
}
