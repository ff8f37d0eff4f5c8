package executors

import (
	"context"

	"github.com/parleyhub/parley"
)

// seat is a participant of a conversation. It has at most one running turn.
type seat struct{ conversation, participant string }

// offer is a turn that can be claimed: by claimID if the hub offered it, otherwise by its number.
type offer struct {
	seat
	agent   string // name of the agent in the seat
	turn    int64
	claimID string
	// traceparent is the span of the offer; it may be empty.
	traceparent string
}

// pendingOffer is the newest offer for a busy seat. A newer offer replaces it.
type pendingOffer struct{ next *offer }

// handleOffer passes an offer to its seat.
func (r *runner) handleOffer(ctx context.Context, q *parley.RequestTurn) {
	if ctx.Err() != nil || !r.opts.Accept(q.ConversationID) {
		return
	}
	o := &offer{seat: seat{q.ConversationID, q.AgentID}, agent: q.Agent, turn: q.Turn, claimID: q.ClaimID,
		traceparent: q.Traceparent}
	r.mu.Lock()
	l := r.seats[o.seat]
	if l != nil {
		l.next = o
		r.mu.Unlock()
		return
	}
	l = &pendingOffer{next: o}
	r.seats[o.seat] = l
	r.mu.Unlock()
	r.serveSeat(ctx, o.seat, l)
}

// serveSeat takes the offers of a seat until no offer is pending.
func (r *runner) serveSeat(ctx context.Context, s seat, l *pendingOffer) {
	r.start(func() {
		for o := r.nextOffer(s, l); o != nil; o = r.nextOffer(s, l) {
			if ctx.Err() != nil {
				return
			}
			stray, err := r.take(ctx, o)
			if err != nil {
				r.log.Debug("taking an offer failed", "conversation", o.conversation, "turn", o.turn, "error", err)
			}
			if stray != nil { // the seat continues when the agent returns
				go func() { <-stray; r.serveSeat(ctx, s, l) }()
				return
			}
		}
	})
}

// nextOffer returns the pending offer. Without a pending offer it returns nil, and the seat becomes
// free.
func (r *runner) nextOffer(s seat, l *pendingOffer) *offer {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := l.next
	l.next = nil
	if o == nil {
		delete(r.seats, s)
	}
	return o
}

// freeSeat removes a seat.
func (r *runner) freeSeat(s seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seats, s)
}
