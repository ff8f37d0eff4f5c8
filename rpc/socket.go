package rpc

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
)

// closeInternal is the close code of a socket that a fault of the hub's own has ended.
const closeInternal = 1011

// socket is one WebSocket connection.
type socket struct {
	server *Server
	conn   *wire.Conn
	peer   visitor
	remote string         // of peer, for the log
	wg     sync.WaitGroup // everything but serve and the flusher

	ctx       context.Context               // ends with it
	principal atomic.Pointer[hub.Principal] // nil before authenticate
	active    atomic.Bool                   // a frame came since the last sweep
	silent    int64                         // sweeps without a frame; of the sweeper
	pinging   atomic.Bool
	pending   atomic.Bool // counted in server.silent
	closing   atomic.Bool // a close frame is on its way: nothing that comes counts any more

	// The hub's end of it, once it has shown a token. It is of the reading goroutine.
	connection *hub.Connection
	// traceparent is that of calls which name none. It is of the reading goroutine too.
	traceparent string

	out   outbox
	pages chan struct{} // one slot: whoever reads a page for the peer holds it until the page is in out
	// explains has one slot too: a dry-run holds it while it waits, so that other pages go out meanwhile
	explains chan struct{}

	ending sync.Mutex // guards the field below; nothing is called while it is held
	ended  bool       // nothing is added to wg

	mu            sync.Mutex // guards the fields below
	timer         *time.Timer
	subscriptions map[string]*subscription
	opening       int   // subscriptions that are reserved
	opened        int64 // subscriptions so far
}

func newSocket(s *Server, conn *wire.Conn, peer visitor) *socket {
	remote := peer.from.String()
	k := &socket{server: s, conn: conn, peer: peer, remote: remote, pages: make(chan struct{}, 1), explains: make(chan struct{}, 1)}
	k.out.flushers, k.out.try, k.out.write, k.out.sent = s.flushers, conn.TryWrite, conn.FinishWrite, s.counters.sent.add
	k.out.broken = func(err error) {
		if !k.closing.Load() { // else what was said after goodbye did not go out, and the peer shall still hear the goodbye
			s.log.Debug("cannot write to a socket", "remote", remote, "error", err)
			conn.Cut()
		}
	}
	return k
}

// serve reads until the socket ends, and cleans up.
func (k *socket) serve(parent context.Context, p *hub.Principal) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	k.ctx = ctx
	var err error
	defer k.server.remove(k)
	defer k.notPending()
	if k.server.add(k) {
		k.arm(p)
		err = k.read(ctx)
	} else {
		err = &wire.CloseError{Code: wire.CloseGoingAway, Reason: errStopping.Message}
	}
	cancel()
	k.end()
	k.endSubscriptions()
	var rule *wire.CloseError
	if errors.As(err, &rule) {
		k.closing.Store(true)
		k.server.log.Debug("socket closed", "remote", k.remote, "code", rule.Code, "reason", rule.Reason)
		_ = k.conn.Close(rule.Code, rule.Reason) // the peer may be gone
	} else {
		_ = k.conn.CloseNow()
	}
	k.out.end()
	k.wg.Wait()
	for _, s := range k.endSubscriptions() { // and those that were about to stand
		<-s.done
	}
}

// read handles frame after frame.
func (k *socket) read(ctx context.Context) error {
	for {
		frame, err := k.conn.Read()
		if err != nil {
			return err
		}
		k.active.Store(true)
		k.server.counters.received.add(1, len(frame))
		if k.closing.Load() {
			continue
		}
		k.handle(ctx, frame)
		if err := k.out.room(ctx, false); err != nil { // a peer that reads nothing is not read from
			return err
		}
	}
}

// page waits for the right to read a page of events for the peer: one at a time, and only while the out-buffer is not full. So
// what a peer that reads nothing makes the hub hold is bounded by a page, whatever it asks for. The caller owes a pageDone.
func (k *socket) page(ctx context.Context) error {
	select {
	case k.pages <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := k.out.room(ctx, true); err != nil {
		k.pageDone()
		return err
	}
	return nil
}

// pageNow is page that does not wait: it reports whether the right was to be had.
func (k *socket) pageNow() bool {
	select {
	case k.pages <- struct{}{}:
	default:
		return false
	}
	if !k.out.roomNow() {
		k.pageDone()
		return false
	}
	return true
}

func (k *socket) pageDone() { <-k.pages }

// handle starts one call.
func (k *socket) handle(ctx context.Context, frame []byte) {
	c := k.plainCall(frame)
	if c == nil {
		if c = k.anyCall(frame); c == nil {
			return
		}
	}
	if err := k.out.begin(c); err != nil {
		k.refuse(c.id, err)
		return
	}
	if !c.handler.waits {
		c.run(ctx)
		return
	}
	if c.decoded == nil {
		c.params = bytes.Clone(c.params) // the frame is read into again
	}
	k.spawn(func() { c.run(ctx) })
}

// plainCall makes a call of a frame with which nothing is wrong and which is written plainly: its params are read once. It is nil for any other, of which anyCall
// says what it is; both come to the same.
func (k *socket) plainCall(frame []byte) *call {
	req, ok := wire.ScanRequest(frame)
	if !ok {
		return nil
	}
	h, known := handlers[string(req.Method)]
	p := k.principal.Load()
	if !known || p == nil {
		return nil
	}
	params, err := h.decode(req.Params)
	if err != nil {
		return nil
	}
	return &call{server: k.server, socket: k, handler: h, id: string(req.ID), principal: p, decoded: params, bytes: len(req.Params), traceparent: k.traceparent}
}

// anyCall makes a call of a frame, or refuses it and gives nil.
func (k *socket) anyCall(frame []byte) *call {
	req, err := wire.ReadRequest(frame)
	id := string(req.ID)
	if err != nil {
		k.refuse(id, err)
		return nil
	}
	h, known := handlers[string(req.Method)]
	p := k.principal.Load()
	switch {
	case p == nil && h.name != parley.MethodAuthenticate:
		k.refuse(id, errNoToken)
		return nil
	case !known:
		k.refuse(id, errNoSuchMethod)
		return nil
	}
	return &call{server: k.server, socket: k, handler: h, id: id, principal: p, params: req.Params, traceparent: k.traceparent}
}

var errNoToken = parley.Refuse(parley.ErrUnauthenticated, "the socket has not shown a token", "authenticate as the first call")

// refuse answers a request that did not become a call.
func (k *socket) refuse(id string, err error) {
	k.server.log.Debug("request refused", "remote", k.remote, "error", err)
	k.server.counters.refused(err)
	k.out.add(appendFailure(nil, id, parley.ToWire(err)))
}

// spawn runs f on a goroutine that serve waits for. It reports false, and does not, when the socket has ended.
func (k *socket) spawn(f func()) bool {
	k.ending.Lock()
	defer k.ending.Unlock()
	if !k.ended {
		k.wg.Go(f)
	}
	return !k.ended
}

func (k *socket) hasEnded() bool {
	k.ending.Lock()
	defer k.ending.Unlock()
	return k.ended
}

// end stops the timer, lets nothing new begin, and tells the hub that whoever held claims here is gone.
func (k *socket) end() {
	k.ending.Lock()
	k.ended = true
	k.ending.Unlock()
	if k.connection != nil {
		k.connection.Close()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
	}
}

// close says goodbye with a code; the read then ends.
func (k *socket) close(code int, reason string) {
	k.closing.Store(true)
	k.spawn(func() {
		k.server.log.Debug("closing socket", "remote", k.remote, "code", code, "reason", reason)
		_ = k.conn.Close(code, reason) // the peer may be gone
	})
}

// notPending says that the socket has shown a token or ended.
func (k *socket) notPending() {
	if k.pending.Swap(false) {
		k.server.silent.leave(k.peer.from)
	}
}

// arm makes p the caller and sets the clock for its token, or for having none.
func (k *socket) arm(p *hub.Principal) {
	if p != nil {
		p = k.connected(p)
	}
	k.mu.Lock()
	k.armLocked(p)
	k.mu.Unlock()
	k.checkRevoked()
}

func (k *socket) armLocked(p *hub.Principal) {
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if k.hasEnded() {
		return
	}
	if p == nil {
		k.timer = time.AfterFunc(k.server.opts.AuthTimeout, func() { k.close(wire.CloseUnauthenticated, "no token was shown in time") })
		return
	}
	k.principal.Store(p)
	k.notPending()
	if !p.ExpiresAt.IsZero() {
		left := p.ExpiresAt.Sub(k.server.hub.Now())
		k.timer = time.AfterFunc(left, func() { k.close(wire.CloseUnauthenticated, expiredToken) })
	}
}

// Why a socket ends whose token has ended.
const (
	expiredToken = "the token has expired"
	revokedToken = "the token was revoked"
)

// checkRevoked closes the socket if its token was revoked. It is asked after every revocation, and by whoever has set the token: so one
// that was revoked between the look at it and that is seen too.
func (k *socket) checkRevoked() {
	if p := k.principal.Load(); p != nil && p.Revoked() {
		k.depart(wire.CloseUnauthenticated, revokedToken)
	}
}

// depart closes the socket when what is under way is answered and written, or when that takes too long. Nothing that comes counts any more.
func (k *socket) depart(code int, reason string) {
	if k.closing.Swap(true) {
		return
	}
	k.spawn(func() {
		k.server.log.Debug("closing socket", "remote", k.remote, "code", code, "reason", reason)
		timer := time.NewTimer(lastAnswers)
		defer timer.Stop()
		select {
		case <-k.out.settled():
		case <-timer.C:
		}
		_ = k.conn.Close(code, reason) // the peer may be gone
	})
}

// lastAnswers is how long a socket that is told to leave still gets the answers to what is under way; to revokeToken itself, for one.
const lastAnswers = 500 * time.Millisecond

// sweep pings a socket that was silent for a number of sweeps, and closes one whose token was revoked by who does not say so.
func (k *socket) sweep(most int64) {
	k.checkRevoked()
	if k.active.Swap(false) {
		k.silent = 0
		return
	}
	if k.silent++; k.silent < most || k.pinging.Swap(true) {
		return
	}
	k.silent = 0
	k.spawn(func() {
		defer k.pinging.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), k.server.opts.PingTimeout)
		defer cancel()
		if err := k.conn.Ping(ctx); err != nil {
			k.server.log.Debug("a peer did not answer a ping", "remote", k.remote, "error", err)
			k.conn.Cut()
		}
	})
}

// notifyClosing tells the peer that the hub stops.
func (k *socket) notifyClosing() {
	n := parley.ClosingNotification{Reason: errStopping.Message, RetryAfterMs: closingRetryMs}
	k.out.add(appendNotification(nil, parley.NotifyClosing, n))
}

// retire closes the socket once everything is answered and written, or when ctx ends.
func (k *socket) retire(ctx context.Context) {
	select {
	case <-k.out.settled():
	case <-ctx.Done():
	}
	k.closing.Store(true)
	_ = k.conn.Close(wire.CloseGoingAway, errStopping.Message) // the peer may be gone
}
