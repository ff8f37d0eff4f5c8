package registration

import (
	"cmp"
	"container/list"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Notices is the queue of notifications for the loop over a registration. Adding never blocks, and
// the queue is bounded:
//
//   - An offer replaces an older offer to the same participant. Beyond the capacity of the
//     executor, it replaces the oldest offer. The turn of that offer has another executor, because the
//     hub offers no more than the capacity.
//   - Of the ended claims it keeps the last [limits.MaxHolding]. The renewal of an older claim
//     returns claim_lost.
//   - A waiting notification replaces an earlier one of the same claim, for the last
//     [limits.MaxHolding] claims.
type Notices struct {
	capacity int
	wake     chan struct{} // has a token if the queue is not empty

	mu     sync.Mutex // guards the fields below
	items  list.List  // of parley.ExecutorNotification, in order of arrival
	offers map[seat]*list.Element
	waits  map[string]*list.Element // by claim
	ends   int
}

// seat is the participant whose turn is offered.
type seat struct{ conversation, participant string }

// NewNotices returns an empty queue for an executor with a capacity. 0 means the default capacity.
func NewNotices(capacity int) *Notices {
	n := &Notices{wake: make(chan struct{}, 1), offers: map[seat]*list.Element{}, waits: map[string]*list.Element{}}
	n.capacity = min(max(cmp.Or(capacity, limits.DefaultCapacity), 1), limits.MaxCapacity)
	return n
}

// Add appends a notification.
func (n *Notices) Add(x parley.ExecutorNotification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case x.RequestTurn != nil:
		n.offerLocked(seat{x.RequestTurn.ConversationID, x.RequestTurn.AgentID}, x)
	case x.ClaimEnded != nil:
		if n.ends++; n.ends > limits.MaxHolding {
			n.ends--
			n.dropLocked(func(x parley.ExecutorNotification) bool { return x.ClaimEnded != nil })
		}
		n.items.PushBack(x)
	case x.ClaimWaiting != nil:
		n.waitingLocked(x.ClaimWaiting.ClaimID, x)
	default:
		n.items.PushBack(x)
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *Notices) offerLocked(of seat, x parley.ExecutorNotification) {
	if older, ok := n.offers[of]; ok {
		n.items.Remove(older)
		delete(n.offers, of)
	}
	if len(n.offers) >= n.capacity {
		n.dropLocked(func(x parley.ExecutorNotification) bool { return x.RequestTurn != nil })
	}
	n.offers[of] = n.items.PushBack(x)
}

func (n *Notices) waitingLocked(claim string, x parley.ExecutorNotification) {
	if older, ok := n.waits[claim]; ok {
		n.items.Remove(older)
		delete(n.waits, claim)
	}
	if len(n.waits) >= limits.MaxHolding {
		n.dropLocked(func(x parley.ExecutorNotification) bool { return x.ClaimWaiting != nil })
	}
	n.waits[claim] = n.items.PushBack(x)
}

// dropLocked removes the oldest notification of a kind.
func (n *Notices) dropLocked(kind func(parley.ExecutorNotification) bool) {
	for e := n.items.Front(); e != nil; e = e.Next() {
		x := e.Value.(parley.ExecutorNotification)
		if !kind(x) {
			continue
		}
		n.items.Remove(e)
		if x.RequestTurn != nil {
			delete(n.offers, seat{x.RequestTurn.ConversationID, x.RequestTurn.AgentID})
		}
		if x.ClaimWaiting != nil {
			delete(n.waits, x.ClaimWaiting.ClaimID)
		}
		return
	}
}

// Wake has a token if a notification was added since the last Take.
func (n *Notices) Wake() <-chan struct{} { return n.wake }

// Take removes and returns all notifications in order of arrival.
func (n *Notices) Take() []parley.ExecutorNotification {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]parley.ExecutorNotification, 0, n.items.Len())
	for e := n.items.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(parley.ExecutorNotification))
	}
	n.items.Init()
	clear(n.offers)
	clear(n.waits)
	n.ends = 0
	return all
}
