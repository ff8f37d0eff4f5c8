package hub

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// delta is a piece of text on its way to live subscribers. It goes out after the event with seq after.
type delta struct {
	parley.Delta
	after int64
}

// What a subscriber may be behind before it misses deltas.
const (
	keepDeltas     = 256
	keepDeltaBytes = 128 << 10
)

// SendDelta passes a piece of text to live subscribers, if a message of that turn would be taken.
func (h *Hub) SendDelta(p *Principal, q *parley.SendDeltaParams, done func(error)) {
	cmd := fold.Command{Verb: fold.Delta, Turn: q.Turn}
	c, p, err := h.enterClaimed(p, parley.MethodSendDelta, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(err)
		return
	}
	if err := checkDelta(q); err != nil {
		h.unpin(c)
		done(err)
		return
	}
	d := parley.Delta{ConversationID: q.ConversationID, Turn: q.Turn, From: p.AgentID, Index: q.Index, Text: q.Text}
	cmd.From = p.AgentID
	c.do(&op{by: p, cmd: cmd, reply: func(decided *fold.Decision, err error) {
		if err == nil {
			c.pass(d)
			h.spread(d, &decided.State)
		}
		done(err)
	}})
}

func checkDelta(q *parley.SendDeltaParams) error {
	switch {
	case q.Turn < 1:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("turn is %d", q.Turn), "1 or more")
	case q.Index < 0:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("index is %d", q.Index), "0 or more")
	case len(q.Text) > parley.MaxDeltaBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("text has %d bytes", len(q.Text)), fmt.Sprintf("at most %d", parley.MaxDeltaBytes))
	}
	return nil
}

// pass gives a delta to whoever is subscribed, unless its turn has ended meanwhile.
func (c *conversation) pass(d parley.Delta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passLocked(d)
}

func (c *conversation) passLocked(d parley.Delta) {
	if len(c.audience) == 0 || c.durable.Closed() || d.Turn != c.durable.CurrentTurn() {
		return
	}
	c.deltas = append(c.deltas, delta{d, c.durable.Seq})
	c.deltaCount++
	c.deltaBytes += len(d.Text)
	drop := 0
	for len(c.deltas)-drop > keepDeltas || c.deltaBytes > keepDeltaBytes {
		c.deltaBytes -= len(c.deltas[drop].Text)
		drop++
	}
	clear(c.deltas[:drop])
	c.deltas = c.deltas[drop:]
	c.wakeLocked()
}

// spread gives a delta that was taken on a state to the other hubs, if there are any.
func (h *Hub) spread(d parley.Delta, s *fold.State) {
	if h.presence.alone() {
		return
	}
	m := &peerDelta{Delta: d, Seq: s.Seq}
	if s.Claim != nil {
		hash := s.Claim.Hash.String()
		m.Claim = hash
	}
	h.presence.send(&peerMessage{Delta: m})
}

// passOn is pass for a delta that another hub has taken. It is held against what this one knows, which must be as much: text of a claim that has ended, or of a turn that is not
// known here yet, goes to nobody.
func (h *Hub) passOn(m *peerDelta) {
	h.mu.Lock()
	there := h.loaded[m.ConversationID] != nil
	h.mu.Unlock()
	if !there {
		return
	}
	c, err := h.pin(m.ConversationID)
	if err != nil {
		return
	}
	defer h.unpin(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	stands := ""
	if c.durable.Claim != nil {
		stands = c.durable.Claim.Hash.String()
	}
	if c.durable.Seq >= m.Seq && stands == m.Claim {
		c.passLocked(m.Delta)
	}
}
