package hub

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/internal/registration"
)

// clientLine is one connection of an in-process client.
type clientLine struct {
	conn     *Connection
	p        *auth.Principal // on conn
	replaced chan struct{}   // closed when another connection has registered as the same executor

	mu      sync.Mutex            // guards the field below; nothing of the hub is called while it is held
	notices *registration.Notices // nil while nobody loops over a registration
}

// connect begins a connection.
func (c *client) connect() *clientLine {
	l := &clientLine{replaced: make(chan struct{})}
	l.conn = c.hub.turns.NewConnection(true, l.notify, sync.OnceFunc(func() { close(l.replaced) }))
	l.p = c.p.On(l.conn)
	return l
}

// notify is told what the registration brings. It never waits.
func (l *clientLine) notify(n parley.ExecutorNotification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notices != nil {
		l.notices.Add(n)
	}
}

// listen sets where what comes goes to; nil is nowhere.
func (l *clientLine) listen(n *registration.Notices) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notices = n
}

// current gives the connection: another one when that was replaced, as a socket would come back.
func (c *client) current() *clientLine {
	for {
		l := c.line.Load()
		select {
		case <-l.replaced:
		default:
			return l
		}
		fresh := c.connect()
		if c.line.CompareAndSwap(l, fresh) {
			l.conn.Close()
			if c.ctx.Err() != nil { // Close has looked at the one before
				fresh.conn.Close()
			}
			return fresh
		}
		fresh.conn.Close()
	}
}

// caller is who calls, on the connection.
func (c *client) caller() *auth.Principal { return c.current().p }

func (c *client) RegisterExecutor(ctx context.Context, q *parley.RegisterExecutorParams, holding func() []string) iter.Seq2[parley.ExecutorNotification, error] {
	return func(yield func(parley.ExecutorNotification, error) bool) {
		if err := c.execute(ctx, q, holding, yield); err != nil {
			yield(parley.ExecutorNotification{}, err)
		}
	}
}

var (
	errRegistered = parley.Refuse(parley.ErrAlreadyExists, "this client is registered as an executor already", "one registration at a time")
	errReplaced   = parley.Refuse(parley.ErrAlreadyExists, "another connection has registered as this executor", "an executorId of its own for each process")
)

// execute registers and yields what comes until yield says enough (then it gives nil) or there is nothing more.
func (c *client) execute(
	ctx context.Context, q *parley.RegisterExecutorParams, holding func() []string, yield func(parley.ExecutorNotification, error) bool,
) error {
	if !c.registering.CompareAndSwap(false, true) {
		return errRegistered
	}
	q = orZero(q)
	defer c.registering.Store(false)
	l, notices := c.current(), registration.NewNotices(q.Capacity)
	l.listen(notices)
	defer l.listen(nil)
	registered, err := c.register(ctx, l, *q, holding)
	if q.Mode == parley.ModePush && (err == nil || errors.Is(err, parley.ErrOutcomeUnknown)) {
		defer c.withdraw(l, *q, holding)
	}
	if err != nil {
		return err
	}
	if !yield(parley.ExecutorNotification{Registered: registered}, nil) {
		return nil
	}
	for {
		for _, n := range notices.Take() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !yield(n, nil) {
				return nil
			}
		}
		select {
		case <-notices.Wake():
		case <-l.replaced:
			return errReplaced
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return errClientClosed
		}
	}
}

func (c *client) register(ctx context.Context, l *clientLine, q parley.RegisterExecutorParams, holding func() []string) (*parley.RegisterExecutorResult, error) {
	q.Holding = c.claiming.With(holding)
	r, err := write(c, ctx, func(done func(parley.RegisterExecutorResult, error)) { c.hub.RegisterExecutor(l.p, &q, done) })
	return orNil(r, err)
}

// withdraw ends the offers when nobody loops over them any more. The claims that are held stay.
func (c *client) withdraw(l *clientLine, q parley.RegisterExecutorParams, holding func() []string) {
	select {
	case <-l.replaced:
		return
	default:
	}
	q.Mode = parley.ModePull
	_, _ = c.register(c.ctx, l, q, holding) // it fails when the client or the hub ends, and then so do the offers
}

func (c *client) ClaimTurn(ctx context.Context, q *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	q = orZero(q)
	defer c.claiming.Begin(q.ClaimID)()
	r, err := write(c, ctx, func(done func(parley.ClaimTurnResult, error)) { c.hub.ClaimTurn(c.caller(), q, done) })
	return orNil(r, err)
}

func (c *client) RenewClaim(ctx context.Context, q *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	q = orZero(q)
	r, err := write(c, ctx, func(done func(parley.RenewClaimResult, error)) { c.hub.RenewClaim(c.caller(), q, done) })
	return orNil(r, err)
}

func (c *client) ReleaseClaim(ctx context.Context, q *parley.ReleaseClaimParams) error {
	q = orZero(q)
	_, err := write(c, ctx, func(done func(parley.EmptyResult, error)) { c.hub.ReleaseClaim(c.caller(), q, done) })
	return err
}

func (c *client) CancelTurn(ctx context.Context, q *parley.CancelTurnParams) (*parley.SeqResult, error) {
	q = orZero(q)
	r, err := write(c, ctx, func(done func(parley.SeqResult, error)) { c.hub.CancelTurn(c.caller(), q, done) })
	return orNil(r, err)
}
