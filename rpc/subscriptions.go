package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// subscriptionSet has the subscriptions of a socket.
type subscriptionSet struct {
	mu      sync.Mutex // guards the fields below; taken before the mu of the socket
	byID    map[string]*subscription
	opening int   // reserved subscriptions
	opened  int64 // number of subscriptions so far
}

// reserve counts a subscription that is about to be opened. The caller must call add or cancel.
func (t *subscriptionSet) reserve() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID)+t.opening >= limits.MaxSubscriptions {
		return parley.Refuse(parley.ErrRateLimited,
			fmt.Sprintf("the socket has %d subscriptions", limits.MaxSubscriptions), "unsubscribe first")
	}
	t.opening++
	return nil
}

// cancel ends a reservation.
func (t *subscriptionSet) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opening--
}

// add sets the id of a reserved subscription, with which remove finds it. The subscription was opened
// for p. If the socket has another caller since, that must be allowed it too.
func (t *subscriptionSet) add(s *subscription, p *hub.Principal, caller func() *hub.Principal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opening--
	if now := caller(); now != p {
		if err := s.cursor.Allows(now); err != nil {
			return err
		}
		s.cursor.Renew(now)
	}
	if t.byID == nil {
		t.byID = make(map[string]*subscription, 1)
	}
	t.opened++
	s.id = "sub_" + strconv.FormatInt(t.opened, 10)
	t.byID[s.id] = s
	return nil
}

// remove removes and returns a subscription; nil for an unknown id.
func (t *subscriptionSet) remove(id string) *subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	delete(t.byID, id)
	return s
}

// replaceCaller makes p the caller of all subscriptions, and calls set with the lock held. It refuses a
// p that is not allowed all of them, and then changes nothing.
func (t *subscriptionSet) replaceCaller(p *hub.Principal, set func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		if err := s.cursor.Allows(p); err != nil {
			return err
		}
	}
	for _, s := range t.byID {
		s.cursor.Renew(p)
	}
	set()
	return nil
}

// end ends all subscriptions and returns them. The done of each is closed at its end.
func (t *subscriptionSet) end() []*subscription {
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.byID))
	t.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	return all
}

// openSubscription returns a subscription that no pump has yet.
func (k *socket) openSubscription(
	ctx context.Context, p *hub.Principal, q *parley.SubscribeParams,
) (*subscription, error) {
	if err := k.subscriptions.reserve(); err != nil {
		return nil, err
	}
	release, err := k.server.admission.Rates.OpenStream(p)
	if err != nil {
		k.subscriptions.cancel()
		return nil, err
	}
	cursor, err := k.server.hub.Subscribe(ctx, p, q)
	if err != nil {
		k.subscriptions.cancel()
		release()
		return nil, err
	}
	s := &subscription{
		socket: k, conversation: q.ConversationID, cursor: cursor, release: release, done: make(chan struct{}),
	}
	if err := k.subscriptions.add(s, p, k.principal.Load); err != nil {
		s.finish()
		return nil, err
	}
	return s, nil
}

// sendItem adds one item of a subscription to the out-buffer.
func (k *socket) sendItem(id, conversationID string, item *hub.Item) {
	switch {
	case item.Event != nil:
		var head [160]byte
		k.out.addFrame(calls.AppendEventHead(head[:0], id), item.Tail...)
	case item.CaughtUp:
		k.out.addFrame(calls.AppendNotification(nil, methods.NotifyCaughtUp, parley.CaughtUpNotification{
			SubscriptionID: id, ConversationID: conversationID, Seq: item.Seq,
		}))
	case item.Guidance != nil:
		k.out.addFrame(calls.AppendNotification(nil, methods.NotifyGuidance, parley.GuidanceNotification{
			SubscriptionID: id, ConversationID: conversationID, Seq: item.Seq, Guidance: *item.Guidance,
		}))
	case item.Delta != nil:
		k.out.addFrame(calls.AppendNotification(nil, methods.NotifyDelta,
			parley.DeltaNotification{SubscriptionID: id, Delta: *item.Delta}))
	}
}
