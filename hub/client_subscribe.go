package hub

import (
	"context"
	"iter"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
)

// pumpItems is how many items one look of an in-process subscription takes.
const pumpItems = 200

func (c *client) Subscribe(ctx context.Context, q *parley.SubscribeParams) iter.Seq2[parley.Notification, error] {
	q = orZero(q)
	return func(yield func(parley.Notification, error) bool) {
		caller := ctx
		ctx, end, err := c.join(ctx)
		if err != nil {
			yield(parley.Notification{}, err)
			return
		}
		defer end()
		s, err := c.hub.Subscribe(ctx, c.caller(), q)
		if err != nil {
			yield(parley.Notification{}, err)
			return
		}
		defer s.Close()
		for {
			items, err := s.Next(ctx, pumpItems)
			if err != nil {
				if caller.Err() == nil && context.Cause(ctx) == errClientClosed {
					err = errClientClosed
				}
				yield(parley.Notification{}, err)
				return
			}
			if !yieldItems(items, q.ConversationID, yield) {
				return
			}
		}
	}
}

func yieldItems(items []Item, conversation string, yield func(parley.Notification, error) bool) bool {
	for _, item := range items {
		n, err := notificationOf(&item, conversation)
		if !yield(n, err) || err != nil {
			return false
		}
	}
	return true
}

func notificationOf(i *Item, conversation string) (parley.Notification, error) {
	switch {
	case i.Event != nil:
		events, err := conv.DecodeEvents([][]byte{i.Event})
		if err != nil {
			return parley.Notification{}, err
		}
		return parley.Notification{Event: &events[0]}, nil
	case i.CaughtUp:
		return parley.Notification{CaughtUp: &parley.CaughtUpNotification{ConversationID: conversation, Seq: i.Seq}}, nil
	case i.Guidance != nil:
		return parley.Notification{Guidance: &parley.GuidanceNotification{ConversationID: conversation, Seq: i.Seq, Guidance: *i.Guidance}}, nil
	}
	return parley.Notification{Delta: i.Delta}, nil
}

func (c *client) Events(ctx context.Context, conversationID string, since int64) iter.Seq2[parley.Event, error] {
	return parley.EventsOf(c.Subscribe(ctx, &parley.SubscribeParams{ConversationID: conversationID, SinceSeq: since}))
}
