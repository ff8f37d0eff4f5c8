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

type clientConnection struct {
	conn     *Connection
	p        *auth.Principal // on conn
	replaced chan struct{}   // closed when another connection registers as the same executor

	mu      sync.Mutex            // guards the field below; not held during calls of the hub
	notices *registration.Notices // nil while no iteration over a registration runs
}

func (c *client) connect() *clientConnection {
	l := &clientConnection{replaced: make(chan struct{})}
	l.conn = c.hub.turns.NewConnection(true, l.notify, sync.OnceFunc(func() { close(l.replaced) }))
	l.p = c.p.On(l.conn)
	return l
}

// notify passes a notification to the iteration over the registration, if there is one. It never blocks.
func (l *clientConnection) notify(n parley.ExecutorNotification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notices != nil {
		l.notices.Add(n)
	}
}

// listen sets the receiver of the notifications; nil drops them.
func (l *clientConnection) listen(n *registration.Notices) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notices = n
}

// current returns the connection. It makes a new one if another executor replaced it.
func (c *client) current() *clientConnection {
	for {
		l := c.conn.Load()
		select {
		case <-l.replaced:
		default:
			return l
		}
		fresh := c.connect()
		if c.conn.CompareAndSwap(l, fresh) {
			l.conn.Close()
			if c.ctx.Err() != nil { // Close may have closed the previous one only
				fresh.conn.Close()
			}
			return fresh
		}
		fresh.conn.Close()
	}
}

func (c *client) caller() *auth.Principal { return c.current().p }

func (c *client) RegisterExecutor(
	ctx context.Context, q *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	return func(yield func(parley.ExecutorNotification, error) bool) {
		if err := c.execute(ctx, q, holding, yield); err != nil {
			yield(parley.ExecutorNotification{}, err)
		}
	}
}

var (
	errRegistered = parley.Refuse(parley.ErrAlreadyExists,
		"this client is registered as an executor already", "one registration at a time")
	errReplaced = parley.Refuse(parley.ErrAlreadyExists,
		"another connection has registered as this executor", "a separate executorId for each process")
)

// execute registers the executor and yields its notifications. It returns nil when yield returns false,
// or why there are no more notifications.
func (c *client) execute(
	ctx context.Context, q *parley.RegisterExecutorParams, holding func() []string,
	yield func(parley.ExecutorNotification, error) bool,
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

// register registers the executor with the claims of holding and those that are being claimed.
func (c *client) register(
	ctx context.Context, l *clientConnection, q parley.RegisterExecutorParams, holding func() []string,
) (*parley.RegisterExecutorResult, error) {
	q.Holding = c.claiming.With(holding)
	r, err := write(c, ctx, func(done func(parley.RegisterExecutorResult, error)) {
		c.hub.RegisterExecutor(l.p, &q, done)
	})
	return orNil(r, err)
}

// withdraw ends the offers when the iteration over them ends. The claims of the executor stay.
func (c *client) withdraw(l *clientConnection, q parley.RegisterExecutorParams, holding func() []string) {
	select {
	case <-l.replaced:
		return
	default:
	}
	q.Mode = parley.ModePull
	_, _ = c.register(c.ctx, l, q, holding) // it fails only if the client or the hub ends, which ends the offers too
}

func (c *client) ClaimTurn(ctx context.Context, q *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	q = orZero(q)
	defer c.claiming.Begin(q.ClaimID)()
	return callWrite(c, ctx, (*Hub).ClaimTurn, q)
}

func (c *client) RenewClaim(ctx context.Context, q *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	return callWrite(c, ctx, (*Hub).RenewClaim, q)
}

func (c *client) ReleaseClaim(ctx context.Context, q *parley.ReleaseClaimParams) error {
	_, err := callWrite(c, ctx, (*Hub).ReleaseClaim, q)
	return err
}

func (c *client) CancelTurn(ctx context.Context, q *parley.CancelTurnParams) (*parley.SeqResult, error) {
	return callWrite(c, ctx, (*Hub).CancelTurn, q)
}
