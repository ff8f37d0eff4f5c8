package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
)

// pumpBatch is how many items a pump takes at once.
const pumpBatch = 64

// subscription is one cursor of a socket, pumped by the goroutine of the call that opened it.
type subscription struct {
	id           string
	conversation string
	cursor       *hub.Subscription
	cancel       context.CancelFunc
	done         chan struct{} // closed when nothing comes any more
}

// reserve makes room for a subscription that is about to be opened. The caller owes a stand or an unreserve.
func (k *socket) reserve() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.subscriptions)+k.opening >= parley.MaxSubscriptions {
		return parley.Refuse(parley.ErrRateLimited, fmt.Sprintf("the socket has %d subscriptions", parley.MaxSubscriptions), "unsubscribe first")
	}
	k.opening++
	return nil
}

func (k *socket) unreserve() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opening--
}

// stand gives a reserved subscription its id; from here on unsubscribe knows it. It was opened for p, and is refused when the socket
// has since shown a token that does not allow it.
func (k *socket) stand(s *subscription, p *hub.Principal) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opening--
	if now := k.principal.Load(); now != p {
		if err := s.cursor.Allows(now); err != nil {
			return err
		}
		s.cursor.Renew(now)
	}
	if k.subscriptions == nil {
		k.subscriptions = make(map[string]*subscription, 1)
	}
	k.opened++
	s.id = "sub_" + strconv.FormatInt(k.opened, 10)
	k.subscriptions[s.id] = s
	return nil
}

// drop forgets a subscription; it gives nil when there is none of that id.
func (k *socket) drop(id string) *subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.subscriptions[id]
	delete(k.subscriptions, id)
	return s
}

// renew makes p, who has shown a fresh token, the caller, and the subscriptions p's. It refuses a token that would not allow all of
// them, and then nothing has changed.
func (k *socket) renew(p *hub.Principal) error {
	p = k.connected(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.subscriptions {
		if err := s.cursor.Allows(p); err != nil {
			return err
		}
	}
	for _, s := range k.subscriptions {
		s.cursor.Renew(p)
	}
	k.armLocked(p)
	return nil
}

// subscribe replies and then pumps until the subscription ends.
func subscribe(parent context.Context, c *call) {
	q, err := paramsOf[parley.SubscribeParams](c)
	if err != nil {
		c.refuse(err)
		return
	}
	if err := c.socket.reserve(); err != nil {
		c.refuse(err)
		return
	}
	counted, err := c.server.rates.stream(c.principal)
	if err != nil {
		c.socket.unreserve()
		c.refuse(err)
		return
	}
	done, release := make(chan struct{}), sync.OnceFunc(counted)
	defer close(done) // once its room is given back: unsubscribe answers then
	defer release()
	cursor, err := c.server.hub.Subscribe(parent, c.principal, q)
	if err != nil {
		c.socket.unreserve()
		release() // before the caller hears of it and may try another
		c.fail(err)
		return
	}
	defer cursor.Close()
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	s := &subscription{conversation: q.ConversationID, cursor: cursor, cancel: cancel, done: done}
	if err := c.socket.stand(s, c.principal); err != nil {
		release()
		c.fail(err)
		return
	}
	result := parley.SubscribeResult{SubscriptionID: s.id, LatestSeq: cursor.LatestSeq()}
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, result) })
	c.socket.pump(ctx, s)
}

// pump writes what a subscription tells into the out-buffer. It cannot leave something out, so whatever ends it, but for
// unsubscribe and the end of the hub, ends the socket, and the peer goes on from its cursor on another.
func (k *socket) pump(ctx context.Context, s *subscription) {
	defer func() {
		if r := recover(); r != nil {
			k.server.log.Error("a subscription panicked", "conversation", s.conversation, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			k.close(closeInternal, brokenSubscription)
		}
	}()
	for {
		if err := k.pumpOnce(ctx, s); err != nil {
			k.pumpFailed(ctx, s, err)
			return
		}
	}
}

// pumpOnce waits until there is something, and reads it only when the peer takes it: a peer that reads nothing costs one page,
// however many subscriptions it has.
func (k *socket) pumpOnce(ctx context.Context, s *subscription) error {
	if err := s.cursor.Wait(ctx); err != nil {
		return err
	}
	release, err := k.page(ctx)
	if err != nil {
		return err
	}
	defer release()
	items, err := s.cursor.Poll(ctx, pumpBatch) // not Next: nothing waits while it holds the slot
	for i := range items {
		k.notify(s.id, s.conversation, &items[i])
	}
	return err
}

// brokenSubscription is why a socket ends whose subscription cannot go on.
const brokenSubscription = "a subscription cannot go on: subscribe again from its cursor"

// pumpFailed ends the socket unless its end, or that of the subscription or the hub, is what err says.
func (k *socket) pumpFailed(ctx context.Context, s *subscription, err error) {
	switch {
	case ctx.Err() != nil, errors.Is(err, errSocketEnded), k.server.draining(): // Shutdown closes the socket
	case errors.Is(err, parley.ErrUnauthenticated) && s.cursor.Revoked():
		k.checkRevoked()
	case errors.Is(err, parley.ErrUnauthenticated):
		k.close(wire.CloseUnauthenticated, parley.ToWire(err).Message)
	default:
		k.server.log.Error("a subscription failed", "conversation", s.conversation, "error", err)
		k.close(closeInternal, brokenSubscription)
	}
}

// notify adds one item to the out-buffer.
func (k *socket) notify(id, conversationID string, item *hub.Item) {
	switch {
	case item.Event != nil:
		var head [160]byte
		k.out.add(appendEventHead(head[:0], id), item.Tail...)
	case item.CaughtUp:
		k.out.add(appendNotification(nil, parley.NotifyCaughtUp, parley.CaughtUpNotification{
			SubscriptionID: id, ConversationID: conversationID, Seq: item.Seq,
		}))
	case item.Guidance != nil:
		k.out.add(appendNotification(nil, parley.NotifyGuidance, parley.GuidanceNotification{
			SubscriptionID: id, ConversationID: conversationID, Seq: item.Seq, Guidance: *item.Guidance,
		}))
	case item.Delta != nil:
		k.out.add(appendNotification(nil, parley.NotifyDelta, parley.DeltaNotification{SubscriptionID: id, Delta: *item.Delta}))
	}
}

// unsubscribe replies when nothing comes any more.
func unsubscribe(ctx context.Context, c *call) {
	q, err := paramsOf[parley.UnsubscribeParams](c)
	if err != nil {
		c.refuse(err)
		return
	}
	s := c.socket.drop(q.SubscriptionID)
	if s == nil {
		c.refuse(parley.Refuse(parley.ErrNotFound, "the socket has no such subscription", ""))
		return
	}
	s.cancel()
	select {
	case <-s.done:
	case <-ctx.Done():
		return
	}
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, parley.EmptyResult{}) })
}
