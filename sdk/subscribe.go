package sdk

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// Events yields the visible events after since, and then new events, each once and in order, over
// any number of reconnects. It ends after the event that closes the conversation. If that event is
// not after since, it ends when it has caught up.
func (c *Client) Events(ctx context.Context, conversationID string, since int64) iter.Seq2[parley.Event, error] {
	return parley.EventsOf(c.Subscribe(ctx, &parley.SubscribeParams{ConversationID: conversationID, SinceSeq: since}))
}

// Subscribe yields events as Events does, and also caught_up once, guidance after each change, and
// deltas. It does not end with the conversation.
func (c *Client) Subscribe(ctx context.Context, p *parley.SubscribeParams) iter.Seq2[parley.Notification, error] {
	q := value(p)
	return func(yield func(parley.Notification, error) bool) {
		if err := c.follow(ctx, q, yield); err != nil {
			yield(parley.Notification{}, err)
		}
	}
}

// cursor is the position of a loop over all its subscriptions.
type cursor struct {
	seq      int64 // of the last event, or the seq up to which the hub has no more events
	caughtUp bool
	guidance *parley.Guidance
}

// admit moves the cursor and reports whether n is new to the loop.
func (k *cursor) admit(n parley.Notification) bool {
	switch {
	case n.Event != nil:
		if n.Event.Seq <= k.seq {
			return false
		}
		k.seq = n.Event.Seq
	case n.CaughtUp != nil:
		k.seq = max(k.seq, n.CaughtUp.Seq)
		first := !k.caughtUp
		k.caughtUp = true
		return first
	case n.Guidance != nil:
		if k.guidance != nil && reflect.DeepEqual(*k.guidance, n.Guidance.Guidance) {
			return false
		}
		g := n.Guidance.Guidance
		k.guidance = &g
	}
	return true
}

// follow subscribes, and subscribes again. It returns nil when yield returns false, and an error
// that a retry cannot repair.
func (c *Client) follow(
	ctx context.Context,
	p parley.SubscribeParams,
	yield func(parley.Notification, error) bool,
) error {
	s, err := c.takeSocket(func(s *socket) bool {
		if s.subs >= maxSubs {
			return false
		}
		s.subs++
		return true
	})
	if err != nil {
		return err
	}
	defer s.withLock(func(s *socket) bool { s.subs--; return true })

	k := cursor{seq: p.SinceSeq}
	pauses := c.newBackoff()
	for {
		p.SinceSeq = k.seq
		l, f, err := c.subscribe(ctx, s, p)
		if err != nil {
			return err
		}
		some, more, err := c.drain(ctx, l, f, &k, yield)
		if !more || err != nil {
			return err
		}
		if some {
			pauses.Reset()
			continue
		}
		if err := c.pause(ctx, min(pauses.NextBackOff(), c.o.MaxBackoff)); err != nil {
			return err
		}
	}
}

// subscribe subscribes when there is a connection.
func (c *Client) subscribe(ctx context.Context, s *socket, p parley.SubscribeParams) (*link, *feed, error) {
	body, err := encode(p)
	if err != nil {
		return nil, nil, err
	}
	pauses := c.newBackoff()
	for {
		release, err := c.acquireCallSlot(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		l, err := c.awaitLink(ctx, s)
		if err == nil {
			err = c.settle(ctx, s, l)
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		f := newFeed(p.ConversationID, p.SinceSeq, c.o.Buffer)
		if _, err = l.call(ctx, methods.Subscribe, body, f, release); err == nil {
			return l, f, nil
		}
		l.leave(f)
		if c.hasEnded(ctx, err) || !errors.Is(err, wire.ErrBroken) && !errors.Is(err, parley.ErrUnavailable) &&
			!errors.Is(err, parley.ErrRateLimited) { // unsubscribes may be under way
			return nil, nil, err
		}
		if err := c.pause(ctx, min(pauses.NextBackOff(), c.o.MaxBackoff)); err != nil {
			return nil, nil, err
		}
	}
}

// drain yields the notifications of f until it ends. some reports whether there was one, and more
// whether the loop continues.
func (c *Client) drain(
	ctx context.Context, l *link, f *feed, k *cursor, yield func(parley.Notification, error) bool,
) (some, more bool, err error) {
	defer l.leave(f) // also when the loop's body panics
	for {
		items, ended := f.take()
		for _, n := range items {
			if ctx.Err() != nil {
				return some, false, ctx.Err()
			}
			if !k.admit(n) {
				continue
			}
			some = true
			if !yield(n, nil) {
				return some, false, nil
			}
		}
		if ended {
			return some, true, nil
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return some, false, ctx.Err()
		case <-c.life.Done():
			return some, false, context.Cause(c.life)
		}
	}
}
