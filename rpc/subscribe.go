package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// pumpBatch is how many items a pump takes at once.
const pumpBatch = 64

// subscription is one cursor of a socket, pumped by the goroutine of the call that opened it.
type subscription struct {
	id     string
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing comes any more
}

// open reserves a subscription.
func (k *socket) open(cancel context.CancelFunc) (*subscription, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.subscriptions) >= parley.MaxSubscriptions {
		return nil, parley.Refuse(parley.ErrRateLimited, fmt.Sprintf("the socket has %d subscriptions", parley.MaxSubscriptions), "unsubscribe first")
	}
	if k.subscriptions == nil {
		k.subscriptions = make(map[string]*subscription, 1)
	}
	k.opened++
	s := &subscription{id: "sub_" + strconv.FormatInt(k.opened, 10), cancel: cancel, done: make(chan struct{})}
	k.subscriptions[s.id] = s
	return s, nil
}

// drop forgets a subscription; it gives nil when there is none of that id.
func (k *socket) drop(id string) *subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.subscriptions[id]
	delete(k.subscriptions, id)
	return s
}

// subscribe replies and then pumps until the subscription ends.
func subscribe(parent context.Context, c *call) {
	var q parley.SubscribeParams
	if err := c.decode(&q); err != nil {
		c.refuse(err)
		return
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	s, err := c.socket.open(cancel)
	if err != nil {
		c.refuse(err)
		return
	}
	defer close(s.done)
	cursor, err := c.server.hub.Subscribe(ctx, c.principal, &q)
	if err != nil {
		c.socket.drop(s.id)
		if ctx.Err() == nil {
			c.fail(err)
		}
		return
	}
	defer cursor.Close()
	result := parley.SubscribeResult{SubscriptionID: s.id, LatestSeq: cursor.LatestSeq()}
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, result) })
	c.socket.pump(ctx, s.id, q.ConversationID, cursor)
}

// pump writes what a subscription tells into the out-buffer. It cannot leave something out, so a fault ends the socket and the
// peer goes on from its cursor on another.
func (k *socket) pump(ctx context.Context, id, conversationID string, cursor *hub.Subscription) {
	defer func() {
		if r := recover(); r != nil {
			k.server.log.Error("a subscription panicked", "conversation", conversationID, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			k.close(closeInternal, "a fault of the hub's own ended a subscription")
		}
	}()
	for {
		items, err := cursor.Next(ctx, pumpBatch)
		for i := range items {
			if k.out.room(ctx) != nil {
				return
			}
			k.notify(id, conversationID, &items[i])
		}
		if err == nil {
			continue
		}
		if ctx.Err() == nil && !errors.Is(err, parley.ErrUnavailable) {
			k.server.log.Error("a subscription failed", "conversation", conversationID, "error", err)
			k.close(closeInternal, "a fault of the hub's own ended a subscription")
		}
		return
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
	var q parley.UnsubscribeParams
	if err := c.decode(&q); err != nil {
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
