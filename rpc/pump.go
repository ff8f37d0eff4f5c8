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
)

// pumpBatch is how many items are taken at once.
const pumpBatch = 64

// subscription is one cursor of a socket. At rest it has no goroutine: a change of the conversation gives it to the server's pumpers, which move all subscriptions on as
// long as nothing has to be waited for. One that has to wait, for its peer or for the disk, gets a goroutine of its own until it rests again.
type subscription struct {
	socket       *socket
	id           string
	conversation string
	cursor       *hub.Subscription
	release      func()        // gives back its place among the streams of its token
	done         chan struct{} // closed when nothing comes any more

	mu     sync.Mutex // guards the fields below
	stage  stage
	ended  bool               // it is over as soon as whoever moves it sees that
	cancel context.CancelFunc // ends what its goroutine waits for; nil while it rests
}

// stage says who has a subscription.
type stage uint8

const (
	moving stage = iota // a pumper has it or will, or its goroutine
	woken               // moving, and something has changed since
	resting
)

// wake has it looked at once more.
func (s *subscription) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == moving {
		s.stage = woken
	}
	if s.stage == resting && !s.ended {
		s.stage = moving
		s.socket.server.pumpers.add(s)
	}
}

// rest lets it rest, unless something has changed meanwhile. It reports whether it rests; then it is no longer the caller's.
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

// end ends it: done is closed soon.
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

// finish gives back what it has. It is called once, by whoever has it.
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

// pump moves it on by one batch, without waiting, and reports whether there is more to do for a pumper.
func (s *subscription) pump() (more bool) {
	defer func() {
		if r := recover(); r != nil {
			s.panicked(r)
			more = false
		}
	}()
	k := s.socket
	pending, err := s.ready(k.ctx)
	if err == nil && pending {
		if !k.pageNow() {
			s.alone()
			return false
		}
		more, err = s.take(k.ctx, true)
	}
	switch {
	case errors.Is(err, hub.ErrFar):
		s.alone()
		return false
	case err != nil:
		s.fail(k.ctx, err)
		return false
	}
	return more || !s.rest()
}

// alone gives it a goroutine of its own.
func (s *subscription) alone() {
	if !s.socket.spawn(s.pumpAlone) {
		s.finish() // the socket has ended
	}
}

// pumpAlone moves it on until it rests or ends.
func (s *subscription) pumpAlone() {
	ctx, cancel := context.WithCancel(s.socket.ctx)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			s.panicked(r)
		}
	}()
	s.endsWith(cancel)
	for {
		pending, err := s.ready(ctx)
		if err == nil && pending {
			pending, err = s.takeNext(ctx)
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

// endsWith notes what its end has to call.
func (s *subscription) endsWith(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel = cancel; s.ended {
		cancel()
	}
}

// ready reports whether there may be something to tell.
func (s *subscription) ready(ctx context.Context) (pending bool, err error) {
	if !s.look() {
		return false, errUnsubscribed
	}
	return s.cursor.Ready(ctx)
}

// look begins a look, which sees what has changed until now. It reports false when the subscription was ended.
func (s *subscription) look() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage = moving
	return !s.ended
}

var errUnsubscribed = errors.New("the subscription was ended")

// takeNext waits until the peer takes more: one that reads nothing costs one page, however many subscriptions it has.
func (s *subscription) takeNext(ctx context.Context) (more bool, err error) {
	if err := s.socket.page(ctx); err != nil {
		return false, err
	}
	return s.take(ctx, false)
}

// take puts the next batch into the out-buffer, and reports whether that was not all. The caller has the right to a page, which is given back. With near it fails with
// hub.ErrFar before it reads the disk.
func (s *subscription) take(ctx context.Context, near bool) (more bool, err error) {
	defer s.socket.pageDone()
	poll := s.cursor.Poll
	if near {
		poll = s.cursor.PollNear
	}
	items, err := poll(ctx, pumpBatch)
	for i := range items {
		s.socket.notify(s.id, s.conversation, &items[i])
	}
	return s.cursor.More(), err
}

func (s *subscription) panicked(r any) {
	k := s.socket
	k.server.log.Error("a subscription panicked", "conversation", s.conversation, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	k.close(closeInternal, brokenSubscription)
	s.finish()
}

// brokenSubscription is why a socket ends whose subscription cannot go on.
const brokenSubscription = "a subscription cannot go on: subscribe again from its cursor"

// fail ends it. It cannot leave something out, so unless the end of the subscription, the socket or the hub is what err says, the socket ends too, and the peer goes
// on from its cursor on another.
func (s *subscription) fail(ctx context.Context, err error) {
	k := s.socket
	switch {
	case s.hasEnded(), ctx.Err() != nil, errors.Is(err, errSocketEnded), k.server.draining(): // Shutdown closes the socket
	case errors.Is(err, parley.ErrUnauthenticated) && s.cursor.Revoked():
		k.checkRevoked()
	case errors.Is(err, parley.ErrUnauthenticated):
		k.close(wire.CloseUnauthenticated, parley.ToWire(err).Message)
	default:
		k.server.log.Error("a subscription failed", "conversation", s.conversation, "error", err)
		k.close(closeInternal, brokenSubscription)
	}
	s.finish()
}
