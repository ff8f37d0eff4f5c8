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

// withdrawTimeout bounds how long the end of a loop over a registration waits until no more turns are offered.
const withdrawTimeout = 5 * time.Second

var (
	errRegistered = parley.Refuse(parley.ErrAlreadyExists, "this client is registered as an executor already", "one registration at a time")
	errReplaced   = parley.Refuse(parley.ErrAlreadyExists, "another connection has registered as this executor", "an executorId of its own for each process")
)

// RegisterExecutor registers on the socket that carries the client's calls, and again whenever that was lost: each time it yields Registered, with the claims of
// holding that stand, before the offers. What ended a claim while there was no connection is told by that and by RenewClaim, and not by ClaimEnded.
// A second registration beside the first is ErrAlreadyExists, and so is one that another connection, of another process, takes away; what may have been one of its own, sent on a connection
// that was lost before the answer came, takes it away for a moment only. When the loop ends no more
// turns are offered; the claims that are held stand.
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

// execute registers, and registers again, and yields what comes, until yield says enough (then it gives nil) or nothing helps.
func (c *Client) execute(
	ctx context.Context, p parley.RegisterExecutorParams, holding func() []string, yield func(parley.ExecutorNotification, error) bool,
) error {
	r := &executor{c: c, params: p, holding: holding, notices: registration.NewNotices(p.Capacity), over: make(chan struct{})}
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

// executor is a registration over any number of links.
type executor struct {
	c       *Client
	params  parley.RegisterExecutorParams
	holding func() []string
	notices *registration.Notices
	link    *link // where it is registered, or may be; nil before the first attempt

	stands atomic.Pointer[link] // where it was registered last
	astray []time.Time          // when registrations were given up of whose end nobody knows
	over   chan struct{}        // closed when the loop has ended
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

// unnamed are the methods that cannot name a claim: whoever works under one is its participant by the connection alone, on which it is held.
var unnamed = map[string]bool{
	methods.GetConversation: true, methods.Tail: true, methods.WaitForChange: true, methods.GetUpdates: true, methods.GetGuidance: true,
	methods.Explain: true, methods.SendNote: true, methods.PutAttachment: true, methods.GetAttachment: true,
	methods.StartSession: true, methods.GetSession: true, methods.StopSession: true,
}

// settleTimeout bounds how long such a call waits for the registration: a loop that makes it itself cannot go on meanwhile.
const settleTimeout = 5 * time.Second

// settle waits, on a connection that is new, until the executor of this client is registered there: before that the hub does not know which claims are held on it.
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

// passes reports whether a refusal of a registration is one that waiting helps.
func passes(err error) bool {
	switch row := parley.ErrorRowOf(err); row.Err {
	case parley.ErrUnavailable, parley.ErrRateLimited, parley.ErrOutcomeUnknown, parley.ErrStorageFull:
		return true
	}
	return false
}

// say makes one registerExecutor on the link.
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

// attend yields what comes until the link is lost; then more is true.
func (r *executor) attend(ctx context.Context, yield func(parley.ExecutorNotification, error) bool) (more bool, err error) {
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

// withdraw ends the offers when nobody loops over them any more. The claims that are held stay, with their executor.
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

// listen sets where what a registration brings goes to; nil is nowhere.
func (l *link) listen(n *registration.Notices) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notices = n
}

// tell takes a notification of the registration to its loop.
func (l *link) tell(err error, method string, n parley.ExecutorNotification) error {
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

// whyLost is an error where a lost link must not be followed by another registration.
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

// astrayFor is how long after a client has given up a connection what it has sent there may still come to the hub: systems go on for that long with what a closed socket has left.
const astrayFor = 2 * time.Minute

// forgive reports whether what has taken the place of this registration may be one of its own, that has come to the hub late. It is told once for each of which nobody knows the end.
func (r *executor) forgive() bool {
	r.astray = slices.DeleteFunc(r.astray, func(at time.Time) bool { return time.Since(at) > astrayFor })
	if len(r.astray) == 0 {
		return false
	}
	r.astray = r.astray[1:]
	return true
}
