package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// find pins a conversation that p may read, or write to. A writer sees what was decided, a reader what
// was committed. A caller that only reads it, by a workspace, is not a writer.
func (h *Hub) find(p *Principal, id string, writes bool) (*conv.Conversation, error) {
	if !p.reaches(id) {
		return nil, errNotFound
	}
	return callFresh(context.Background(), h, func() (*conv.Conversation, error) {
		c, err := h.conv.Pin(id)
		if err != nil {
			return nil, err
		}
		if err := checkAccess(p, c, writes); err != nil {
			h.conv.Unpin(c)
			return nil, err
		}
		return c, nil
	})
}

// checkAccess refuses a caller that may not read a conversation, or not write to it.
func checkAccess(p *Principal, c *conv.Conversation, writes bool) (err error) {
	c.View(func(durable, head *fold.State) {
		switch {
		case !p.Reads(durable) && !(writes && p.Reads(head)):
			err = errNotFound
		case writes && !p.sees(durable) && !p.sees(head):
			err = errReadsOnly
		}
	})
	return err
}

// Subscribe returns a subscription from sinceSeq on. It keeps the conversation in memory until Close.
func (h *Hub) Subscribe(_ context.Context, p *Principal, q *parley.SubscribeParams) (*Subscription, error) {
	p = p.in(q.ConversationID)
	c, _, err := h.open(p, parley.MethodSubscribe, q.ConversationID, q.SinceSeq, 0)
	if err != nil {
		return nil, err
	}
	s, err := c.Subscribe(p, q.SinceSeq, q.Types)
	if err != nil {
		h.conv.Unpin(c)
	}
	return s, err
}
