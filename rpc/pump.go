package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/calls"
	"github.com/parleyhub/parley/rpc/internal/httpapi"
)

// pumpBatch is how many items are read at once.
const pumpBatch = 64

// subscription is one cursor of a socket. At rest it has no goroutine. A change of the conversation
// submits it to the pumps of the server, which move it forward as long as that needs no wait. If it
// must wait for the peer or the disk, it gets its own goroutine until it rests again.
type subscription struct {
	socket       *socket
	id           string
	conversation string
	cursor       *hub.Subscription
	release      func()        // ends the count among the streams of its account
	done         chan struct{} // closed after the last notification

	mu     sync.Mutex // guards the fields below
	stage  stage
	ended  bool               // the owner must finish it
	cancel context.CancelFunc // ends the waits of its goroutine; nil without one
}

// stage says who owns a subscription.
type stage uint8

const (
	moving  stage = iota // a pump or its goroutine owns it, or soon will
	woken                // moving, and something has changed since
	resting              // no one owns it
)

// wake makes sure that the subscription is moved after this call.
func (s *subscription) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == moving {
		s.stage = woken
	}
	if s.stage == resting && !s.ended {
		s.stage = moving
		s.socket.server.pumps.submit(s)
	}
}

// rest lets the subscription rest, unless something has changed. If it returns true, the caller no
// longer owns the subscription.
func (s *subscription) rest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == woken || s.ended {
		s.stage = moving
		return false
	}
	s.stage, s.cancel = resting, nil
	return true
}

// end ends the subscription. Its done is closed soon after.
func (s *subscription) end() {
	s.mu.Lock()
	rested := s.stage == resting && !s.ended
	s.ended = true
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	if rested {
		s.finish()
	}
}

// finish releases everything. The owner calls it once.
func (s *subscription) finish() {
	s.cursor.Close()
	s.release()
	close(s.done)
}

func (s *subscription) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// pump sends one batch without waiting. It returns true if a pump must call it again.
func (s *subscription) pump() (more bool) {
	defer func() {
		if r := recover(); r != nil {
			s.closeAfterPanic(r)
			more = false
		}
	}()
	k := s.socket
	pending, err := s.checkReady(k.ctx)
	if err == nil && pending {
		if !k.tryAcquirePage() {
			s.spawnPump()
			return false
		}
		more, err = s.sendBatch(k.ctx, true)
	}
	switch {
	case errors.Is(err, hub.ErrFar):
		s.spawnPump()
		return false
	case err != nil:
		s.fail(k.ctx, err)
		return false
	}
	return more || !s.rest()
}

// spawnPump starts a goroutine for the subscription.
func (s *subscription) spawnPump() {
	if !s.socket.spawn(s.pumpUntilRest) {
		s.finish() // the socket is closed
	}
}

// pumpUntilRest sends batches until the subscription rests or ends. It may wait.
func (s *subscription) pumpUntilRest() {
	ctx, cancel := context.WithCancel(s.socket.ctx)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			s.closeAfterPanic(r)
		}
	}()
	s.setCancel(cancel)
	for {
		pending, err := s.checkReady(ctx)
		if err == nil && pending {
			pending, err = s.waitAndSendBatch(ctx)
		}
		if err != nil {
			s.fail(ctx, err)
			return
		}
		if !pending && s.rest() {
			return
		}
	}
}

// setCancel sets the function that end calls.
func (s *subscription) setCancel(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel = cancel; s.ended {
		cancel()
	}
}

// checkReady reports whether there may be items.
func (s *subscription) checkReady(ctx context.Context) (pending bool, err error) {
	if !s.beginMove() {
		return false, errUnsubscribed
	}
	return s.cursor.Ready(ctx)
}

// beginMove clears woken: the caller sees all changes until now. It returns false if the subscription
// was ended.
func (s *subscription) beginMove() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage = moving
	return !s.ended
}

var errUnsubscribed = errors.New("the subscription was ended")

// waitAndSendBatch waits until the peer takes more. So all subscriptions of a peer that reads nothing
// cost one page.
func (s *subscription) waitAndSendBatch(ctx context.Context) (more bool, err error) {
	if _, err := s.socket.AcquirePage(ctx); err != nil {
		return false, err
	}
	return s.sendBatch(ctx, false)
}

// sendBatch adds the next batch to the out-buffer, and reports whether there are more items. The
// caller has acquired a page, which it releases. With near, it returns hub.ErrFar instead of reading
// the disk.
func (s *subscription) sendBatch(ctx context.Context, near bool) (more bool, err error) {
	defer s.socket.releasePage()
	poll := s.cursor.Poll
	if near {
		poll = s.cursor.PollNear
	}
	items, err := poll(ctx, pumpBatch)
	for i := range items {
		s.socket.sendItem(s.id, s.conversation, &items[i])
	}
	return s.cursor.More(), err
}

func (s *subscription) closeAfterPanic(r any) {
	k := s.socket
	k.server.log.Error("a subscription panicked",
		"conversation", s.conversation, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	k.close(closeInternal, httpapi.BrokenSubscription)
	s.finish()
}

// fail finishes the subscription. If err is not the end of the subscription, the socket or the hub,
// it closes the socket: a subscription must not leave out items, and the peer can continue from its
// cursor on another socket.
func (s *subscription) fail(ctx context.Context, err error) {
	k := s.socket
	switch {
	case s.hasEnded(), ctx.Err() != nil, errors.Is(err, calls.ErrSocketEnded):
	case k.server.isStopping(): // Shutdown closes the socket
	case errors.Is(err, parley.ErrUnauthenticated) && s.cursor.Revoked():
		k.checkRevoked()
	case errors.Is(err, parley.ErrUnauthenticated):
		k.close(wire.CloseUnauthenticated, parley.ToWire(err).Message)
	default:
		k.server.log.Error("a subscription failed", "conversation", s.conversation, "error", err)
		k.close(closeInternal, httpapi.BrokenSubscription)
	}
	s.finish()
}
