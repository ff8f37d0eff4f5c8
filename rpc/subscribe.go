package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

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

// subscribe replies, and gives the subscription to the pumpers.
func subscribe(ctx context.Context, c *call) {
	q, err := paramsOf[parley.SubscribeParams](c)
	if err != nil {
		c.refuse(err)
		return
	}
	s, err := c.socket.subscribe(ctx, c.principal, q)
	if err != nil {
		c.fail(err)
		return
	}
	defer c.server.pumpers.add(s) // whatever happens: only they end it
	s.cursor.OnChange(s.wake)
	result := parley.SubscribeResult{SubscriptionID: s.id, LatestSeq: s.cursor.LatestSeq()}
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, result) })
}

// subscribe makes a subscription, which nobody moves yet.
func (k *socket) subscribe(ctx context.Context, p *hub.Principal, q *parley.SubscribeParams) (*subscription, error) {
	if err := k.reserve(); err != nil {
		return nil, err
	}
	release, err := k.server.rates.stream(p)
	if err != nil {
		k.unreserve()
		return nil, err
	}
	cursor, err := k.server.hub.Subscribe(ctx, p, q)
	if err != nil {
		k.unreserve()
		release()
		return nil, err
	}
	s := &subscription{socket: k, conversation: q.ConversationID, cursor: cursor, release: release, done: make(chan struct{})}
	if err := k.stand(s, p); err != nil {
		s.finish()
		return nil, err
	}
	return s, nil
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
	s.end()
	select {
	case <-s.done:
	case <-ctx.Done():
		return
	}
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, parley.EmptyResult{}) })
}

// endSubscriptions ends all. They are over when they are done.
func (k *socket) endSubscriptions() []*subscription {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.subscriptions))
	k.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	return all
}
