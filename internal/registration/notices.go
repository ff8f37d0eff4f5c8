package registration

import (
	"cmp"
	"container/list"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Notices wait for the loop over a registration. Adding never blocks, and what waits is bounded: an
// offer takes the place of an older one to the same participant; one more than the executor's
// capacity takes that of the oldest, whose turn has gone to somebody else, as no more than that are
// offered at once; of the ends of claims the last [limits.MaxHolding] are kept: who holds an older
// one is told claim_lost when it is renewed; and whether a turn waits takes the place of what was
// said of that claim before, for the last [limits.MaxHolding] claims.
type Notices struct {
	capacity int
	wake     chan struct{} // a token: there is something

	mu     sync.Mutex // guards the fields below
	items  list.List  // of parley.ExecutorNotification, in the order in which they came
	offers map[seat]*list.Element
	waits  map[string]*list.Element // by claim
	ends   int
}

// seat is whose turn is offered.
type seat struct{ conversation, participant string }

// NewNotices makes them for an executor of a capacity; 0 is the default one.
func NewNotices(capacity int) *Notices {
	n := &Notices{wake: make(chan struct{}, 1), offers: map[seat]*list.Element{}, waits: map[string]*list.Element{}}
	n.capacity = min(max(cmp.Or(capacity, limits.DefaultCapacity), 1), limits.MaxCapacity)
	return n
}

// Add puts one at the end.
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

// dropLocked takes the oldest of a kind out.
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

// Wake has a token when something was added since the last look.
func (n *Notices) Wake() <-chan struct{} { return n.wake }

// Take gives what is there, in the order in which it came.
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
