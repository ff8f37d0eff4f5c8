package rpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// reserveSubscription counts a subscription that is about to be opened. The caller must call
// addSubscription or cancelReservation.
func (k *socket) reserveSubscription() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.subscriptions)+k.opening >= parley.MaxSubscriptions {
		return parley.Refuse(parley.ErrRateLimited,
			fmt.Sprintf("the socket has %d subscriptions", parley.MaxSubscriptions), "unsubscribe first")
	}
	k.opening++
	return nil
}

func (k *socket) cancelReservation() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opening--
}

// addSubscription sets the id of a reserved subscription, which unsubscribe then finds. The
// subscription was opened for p. If the socket has another token since, that must allow it too.
func (k *socket) addSubscription(s *subscription, p *hub.Principal) error {
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

// removeSubscription removes and returns a subscription; nil for an unknown id.
func (k *socket) removeSubscription(id string) *subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.subscriptions[id]
	delete(k.subscriptions, id)
	return s
}

// replaceCaller makes p, the principal of a new token, the caller of the socket and its
// subscriptions. It refuses a token that does not allow all of them, and then changes nothing.
func (k *socket) replaceCaller(p *hub.Principal) error {
	p = k.withConnection(p)
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
	k.setCallerLocked(p)
	return nil
}

// openSubscription returns a subscription that no pump has yet.
func (k *socket) openSubscription(
	ctx context.Context, p *hub.Principal, q *parley.SubscribeParams,
) (*subscription, error) {
	if err := k.reserveSubscription(); err != nil {
		return nil, err
	}
	release, err := k.server.admission.Rates.OpenStream(p)
	if err != nil {
		k.cancelReservation()
		return nil, err
	}
	cursor, err := k.server.hub.Subscribe(ctx, p, q)
	if err != nil {
		k.cancelReservation()
		release()
		return nil, err
	}
	s := &subscription{
		socket: k, conversation: q.ConversationID, cursor: cursor, release: release, done: make(chan struct{}),
	}
	if err := k.addSubscription(s, p); err != nil {
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
		k.out.addFrame(calls.AppendNotification(nil, parley.NotifyCaughtUp, parley.CaughtUpNotification{
			SubscriptionID: id, ConversationID: conversationID, Seq: item.Seq,
		}))
	case item.Guidance != nil:
		k.out.addFrame(calls.AppendNotification(nil, parley.NotifyGuidance, parley.GuidanceNotification{
			SubscriptionID: id, ConversationID: conversationID, Seq: item.Seq, Guidance: *item.Guidance,
		}))
	case item.Delta != nil:
		k.out.addFrame(calls.AppendNotification(nil, parley.NotifyDelta,
			parley.DeltaNotification{SubscriptionID: id, Delta: *item.Delta}))
	}
}

// endSubscriptions ends all subscriptions and returns them. The done of each is closed at its end.
func (k *socket) endSubscriptions() []*subscription {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.subscriptions))
	k.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	return all
}
