package executors

import (
	"context"

	"github.com/parleyhub/parley"
)

// seat is a participant of a conversation. One turn of it is worked on at a time.
type seat struct{ conversation, participant string }

// offer is a turn that may be claimed: with claimID when the hub has offered it, else by its number.
type offer struct {
	seat
	agent   string // the name of the agent that sits there
	turn    int64
	claimID string
	// traceparent is that of the offer; empty where it has none.
	traceparent string
}

// line is what waits for a seat at which an agent is at work: the newest offer, as an older one is of no use any more.
type line struct{ next *offer }

// offered takes an offer to its seat.
func (r *runner) offered(ctx context.Context, q *parley.RequestTurn) {
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
	l = &line{next: o}
	r.seats[o.seat] = l
	r.mu.Unlock()
	r.sit(ctx, o.seat, l)
}

// sit serves the offers of a seat until there is none.
func (r *runner) sit(ctx context.Context, s seat, l *line) {
	r.start(func() {
		for o := r.nextOffer(s, l); o != nil; o = r.nextOffer(s, l) {
			if ctx.Err() != nil {
				return
			}
			stray, err := r.take(ctx, o)
			if err != nil {
				r.log.Debug("an offer was not taken", "conversation", o.conversation, "turn", o.turn, "error", err)
			}
			if stray != nil { // nobody waits for it: the seat is taken up again when it has returned
				go func() { <-stray; r.sit(ctx, s, l) }()
				return
			}
		}
	})
}

// nextOffer gives the offer that waits; when there is none the seat is free.
func (r *runner) nextOffer(s seat, l *line) *offer {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := l.next
	l.next = nil
	if o == nil {
		delete(r.seats, s)
	}
	return o
}

// free frees a seat.
func (r *runner) free(s seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seats, s)
}
