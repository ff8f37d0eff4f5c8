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
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// closeInternal is the close code of a socket that ends because of an internal error.
const closeInternal = 1011

// lastAnswers is how long a socket that must close still gets the answers to the calls under way, such
// as that of revokeToken itself.
const lastAnswers = 500 * time.Millisecond

// replacedReason is why a socket ends whose executor has registered on another one.
const replacedReason = "another connection has registered as this executor"

// socket is one WebSocket connection.
type socket struct {
	server *Server
	conn   *wire.Conn
	client admission.Client
	remote string         // the address of client, for the log
	wg     sync.WaitGroup // all goroutines except serve and the flusher

	ctx       context.Context               // ends with the socket
	principal atomic.Pointer[hub.Principal] // nil before authenticate
	active    atomic.Bool                   // a frame arrived since the last sweep
	silent    int64                         // sweeps without a frame; only sweep uses it
	pinging   atomic.Bool
	pending   atomic.Bool // counted among the sockets without a token
	closing   atomic.Bool // a close frame is sent or about to be: frames that arrive are ignored

	// Only the goroutine that reads uses the next two fields.
	connection  *hub.Connection // set when the socket has shown a token
	traceparent string          // for calls without one

	out outbox
	// Each of these has one slot: for the call that reads a page for the peer, until the page is in out;
	// and for an explainTriggers, which other pages do not wait for.
	pages, explains chan struct{}

	ending sync.Mutex // guards the field below; nothing is called while it is held
	ended  bool       // no goroutine may be added to wg

	subscriptions subscriptionSet

	mu    sync.Mutex // guards the field below
	timer *time.Timer
}

var _ calls.Socket = (*socket)(nil)

func newSocket(s *Server, conn *wire.Conn, client admission.Client) *socket {
	k := &socket{
		server: s, conn: conn, client: client, remote: client.From.String(),
		pages: make(chan struct{}, 1), explains: make(chan struct{}, 1),
	}
	k.out.flushers, k.out.try, k.out.write, k.out.sent = s.flushers, conn.TryWrite, conn.FinishWrite, s.sent.count
	k.out.broken = func(err error) {
		if !k.closing.Load() { // frames after the close frame may fail; the peer must still get that
			s.log.Debug("cannot write to a socket", "remote", k.remote, "error", err)
			conn.Cut()
		}
	}
	return k
}

// serve reads until the socket ends, and releases everything.
func (k *socket) serve(parent context.Context, p *hub.Principal) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	k.ctx = ctx
	var err error
	defer k.server.removeSocket(k)
	defer k.uncountPending()
	if k.server.addSocket(k) {
		k.setCaller(p)
		err = k.readFrames(ctx)
	} else {
		err = &wire.CloseError{Code: wire.CloseGoingAway, Reason: admission.ErrStopping.Message}
	}
	cancel()
	k.end()
	k.subscriptions.end()
	var rule *wire.CloseError
	if errors.As(err, &rule) {
		k.closing.Store(true)
		k.server.log.Debug("socket closed", "remote", k.remote, "code", rule.Code, "reason", rule.Reason)
		_ = k.conn.Close(rule.Code, rule.Reason) // the peer may have left
	} else {
		_ = k.conn.CloseNow()
	}
	k.out.end()
	k.wg.Wait()
	for _, s := range k.subscriptions.end() { // also those that were being opened
		<-s.done
	}
}

func (k *socket) readFrames(ctx context.Context) error {
	for {
		frame, err := k.conn.Read()
		if err != nil {
			return err
		}
		k.active.Store(true)
		k.server.received.count(1, len(frame))
		if k.closing.Load() {
			continue
		}
		k.startCall(ctx, frame)
		if err := k.out.waitForRoom(ctx, false); err != nil { // a peer that reads nothing is not read from
			return err
		}
	}
}

// AcquirePage waits for the right to read a page of events for the peer: one at a time, and only while
// the out-buffer is not full. So a peer that reads nothing makes the hub keep at most one page.
func (k *socket) AcquirePage(ctx context.Context) (release func(), err error) {
	if err := acquireSlot(ctx, k.pages); err != nil {
		return nil, err
	}
	if err := k.out.waitForRoom(ctx, true); err != nil {
		k.releasePage()
		return nil, err
	}
	return k.releasePage, nil
}

// tryAcquirePage is AcquirePage without a wait. The caller must call releasePage if it returns true.
func (k *socket) tryAcquirePage() bool {
	select {
	case k.pages <- struct{}{}:
	default:
		return false
	}
	if !k.out.hasRoom() {
		k.releasePage()
		return false
	}
	return true
}

func (k *socket) releasePage() { <-k.pages }

// AcquireExplain waits for the slot for explainTriggers.
func (k *socket) AcquireExplain(ctx context.Context) (release func(), err error) {
	if err := acquireSlot(ctx, k.explains); err != nil {
		return nil, err
	}
	return func() { <-k.explains }, nil
}

func acquireSlot(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Finish sends the answer of a call.
func (k *socket) Finish(c *calls.Call, frame []byte) { k.out.finishCall(c, frame) }

// startCall starts the call of a frame.
func (k *socket) startCall(ctx context.Context, frame []byte) {
	c := k.readCallFast(frame)
	if c == nil {
		if c = k.readCall(frame); c == nil {
			return
		}
	}
	if err := k.out.beginCall(c); err != nil {
		k.refuse(c.ID, err)
		return
	}
	if !c.Handler.Waits {
		c.Run(ctx)
		return
	}
	if c.Decoded == nil {
		c.Params = bytes.Clone(c.Params) // the next frame overwrites this one
	}
	k.spawn(func() { c.Run(ctx) })
}

// readCallFast reads a correct frame with plain syntax, whose params it decodes at once. It returns
// nil for any other frame, which readCall reads. Both return equal calls.
func (k *socket) readCallFast(frame []byte) *calls.Call {
	req, ok := wire.ScanRequest(frame)
	if !ok {
		return nil
	}
	h, known := handlers[string(req.Method)]
	p := k.principal.Load()
	if !known || p == nil {
		return nil
	}
	params, err := h.Decode(req.Params)
	if err != nil {
		return nil
	}
	return k.newCall(calls.Request{
		Handler: h, ID: string(req.ID), Principal: p, Decoded: params, Size: len(req.Params),
	})
}

// readCall reads any frame. It refuses a frame that is not a call, and returns nil.
func (k *socket) readCall(frame []byte) *calls.Call {
	req, err := wire.ReadRequest(frame)
	id := string(req.ID)
	if err != nil {
		k.refuse(id, err)
		return nil
	}
	h, known := handlers[string(req.Method)]
	p := k.principal.Load()
	switch {
	case p == nil && h.Name != methods.Authenticate:
		k.refuse(id, errNoToken)
		return nil
	case !known:
		k.refuse(id, calls.ErrNoSuchMethod)
		return nil
	}
	return k.newCall(calls.Request{Handler: h, ID: id, Principal: p, Params: req.Params})
}

func (k *socket) newCall(r calls.Request) *calls.Call {
	r.Socket, r.From, r.Traceparent = k, k.client.From, k.traceparent
	return k.server.calls.NewCall(r)
}

var errNoToken = parley.Refuse(parley.ErrUnauthenticated,
	"the socket has not shown a token", "authenticate as the first call")

// refuse answers a request that did not become a call.
func (k *socket) refuse(id string, err error) {
	k.server.log.Debug("request refused", "remote", k.remote, "error", err)
	k.server.calls.CountRefusal(err)
	k.out.addFrame(calls.AppendFailure(nil, id, parley.ToWire(err)))
}

// spawn runs f on a goroutine that serve waits for. After the end of the socket it returns false,
// and does not run f.
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

// end stops the timer, prevents new goroutines, and closes the connection to the hub with its claims.
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

// close sends a close frame. The read of the socket ends after it.
func (k *socket) close(code int, reason string) {
	k.closing.Store(true)
	k.spawn(func() {
		k.server.log.Debug("closing socket", "remote", k.remote, "code", code, "reason", reason)
		_ = k.conn.Close(code, reason) // the peer may have left
	})
}

// closeAfterAnswers closes the socket when the calls under way are answered, or after lastAnswers. It
// ignores frames that arrive meanwhile.
func (k *socket) closeAfterAnswers(code int, reason string) {
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
		_ = k.conn.Close(code, reason) // the peer may have left
	})
}

// closeWhenSettled closes the socket when all calls are answered, or when ctx ends.
func (k *socket) closeWhenSettled(ctx context.Context) {
	select {
	case <-k.out.settled():
	case <-ctx.Done():
	}
	k.closing.Store(true)
	_ = k.conn.Close(wire.CloseGoingAway, admission.ErrStopping.Message) // the peer may have left
}

// uncountPending ends the count among the sockets without a token.
func (k *socket) uncountPending() {
	if k.pending.Swap(false) {
		k.server.admission.Sockets.Remove(k.client.From)
	}
}

// setCaller makes p the caller and starts the timer for the end of its token. If p is nil, it starts
// the timer for the first token.
func (k *socket) setCaller(p *hub.Principal) {
	if p != nil {
		p = k.withConnection(p)
	}
	k.storeCaller(p)
	k.checkRevoked()
}

// replaceCaller makes p, the principal of a new token, the caller of the socket and its subscriptions.
// It refuses a token that does not allow all of them, and then changes nothing.
func (k *socket) replaceCaller(p *hub.Principal) error {
	p = k.withConnection(p)
	return k.subscriptions.replaceCaller(p, func() { k.storeCaller(p) })
}

func (k *socket) storeCaller(p *hub.Principal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if k.hasEnded() {
		return
	}
	if p == nil {
		expire := func() { k.close(wire.CloseUnauthenticated, "no token was shown in time") }
		k.timer = time.AfterFunc(k.server.opts.AuthTimeout, expire)
		return
	}
	k.principal.Store(p)
	k.uncountPending()
	if !p.ExpiresAt.IsZero() {
		left := p.ExpiresAt.Sub(k.server.hub.Now())
		k.timer = time.AfterFunc(left, func() { k.close(wire.CloseUnauthenticated, admission.ExpiredReason) })
	}
}

// checkRevoked closes the socket if its token was revoked. It is called after every revocation, and
// after a change of the token, so that no revocation between its verification and the change is lost.
func (k *socket) checkRevoked() {
	if p := k.principal.Load(); p != nil && p.Revoked() {
		k.closeAfterAnswers(wire.CloseUnauthenticated, admission.RevokedReason)
	}
}

// sweep pings a socket that was silent for a number of sweeps. It also closes one whose token was
// revoked without a notification.
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

// notifyClosing notifies the peer that the hub stops.
func (k *socket) notifyClosing() {
	n := parley.ClosingNotification{Reason: admission.ErrStopping.Message, RetryAfterMs: admission.RetryMs}
	k.out.addFrame(calls.AppendNotification(nil, methods.NotifyClosing, n))
}

// withConnection returns a caller with the connection of the socket to the hub. Only the goroutine
// that reads calls it, with no lock held.
func (k *socket) withConnection(p *hub.Principal) *hub.Principal {
	if k.connection == nil {
		k.connection = k.server.hub.Connect(k.notifyExecutor, k.closeReplaced)
	}
	return p.On(k.connection)
}

// notifyExecutor sends a notification to the executor of the socket. It never waits and takes no lock
// of the socket, because the hub may hold its own.
func (k *socket) notifyExecutor(n parley.ExecutorNotification) {
	var frame []byte
	switch {
	case n.RequestTurn != nil:
		frame = calls.AppendNotification(nil, methods.NotifyRequestTurn, n.RequestTurn)
	case n.ClaimEnded != nil:
		frame = calls.AppendNotification(nil, methods.NotifyClaimEnded, n.ClaimEnded)
	case n.ClaimWaiting != nil:
		frame = calls.AppendNotification(nil, methods.NotifyClaimWaiting, n.ClaimWaiting)
	default:
		return
	}
	// Rather no socket than one with a gap: the peer connects and registers again.
	if !k.out.addForExecutor(frame) && !k.closing.Swap(true) {
		k.server.log.Warn("an executor does not read its notifications", "remote", k.remote)
		k.conn.Cut()
	}
}

// closeReplaced closes the socket of an executor that has registered on another one. The hub may hold
// its locks.
func (k *socket) closeReplaced() {
	n := parley.ClosingNotification{Reason: replacedReason}
	k.out.addFrame(calls.AppendNotification(nil, methods.NotifyClosing, n))
	k.closeAfterAnswers(wire.CloseReplaced, replacedReason)
}
