package hub

import (
	"fmt"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// SendDelta passes a piece of text to live subscribers, if a message of that turn would be taken.
func (h *Hub) SendDelta(p *auth.Principal, q *parley.SendDeltaParams, done func(error)) {
	cmd := fold.Command{Do: &fold.Delta{Turn: q.Turn}}
	c, p, err := h.turns.EnterClaimed(p, parley.MethodSendDelta, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(err)
		return
	}
	if err := checkDelta(q); err != nil {
		h.conv.Unpin(c)
		done(err)
		return
	}
	d := parley.Delta{ConversationID: q.ConversationID, Turn: q.Turn, From: p.AgentID, Index: q.Index, Text: q.Text}
	cmd.From = p.AgentID
	c.Do(&conv.Request{By: p, Cmd: cmd, Reply: func(decided *fold.Decision, err error) {
		if err == nil {
			c.PassDelta(d)
			h.sendToPeers(d, &decided.State)
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

// sendToPeers sends a delta that was taken on a state to the subscriptions of the other hubs.
func (h *Hub) sendToPeers(d parley.Delta, s *fold.State) {
	claim := ""
	if s.Claim != nil {
		claim = s.Claim.Hash.String()
	}
	h.presence.SendDelta(d, s.Seq, claim)
}
