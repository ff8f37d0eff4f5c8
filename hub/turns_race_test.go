package hub_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// TestTurnsRace: many executors claim, speak, renew, release, disconnect, reconnect, and let claims
// expire, all at once. The log is valid, each turn has one final message, and no state is left.
func TestTurnsRace(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	const executors, conversations, turns = 8, 12, 6
	var ids []string
	for range conversations {
		ids = append(ids, create(t, h, h.LocalPrincipal("a0"), &parley.CreateConversationParams{
			Participants: seatsOf(parley.KindAgent, "a0", "a1"),
			Limits:       &parley.Limits{TurnTimeoutMs: 100, ClaimWindowMs: 50, MaxTurns: turns, MaxAttempts: 100},
		}))
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	for i := range executors {
		wg.Go(func() { race(t, h, i, over) })
	}
	for _, id := range ids {
		u, _, err := h.GetUpdates(t.Context(), h.LocalPrincipal("a0"),
			&parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 60_000})
		if err != nil || u.TimedOut {
			t.Errorf("%s was not brought to its end: %+v, %v", id, u, err)
		}
	}
	close(over)
	wg.Wait()
	for _, id := range ids {
		finals := make(map[int64]int)
		for _, e := range events(t, j, id) {
			if e.Finality == parley.FinalityTurn {
				finals[e.Turn]++
			}
		}
		for turn := int64(1); turn <= turns; turn++ {
			if finals[turn] != 1 {
				t.Errorf("%s: turn %d has %d final messages", id, turn, finals[turn])
			}
		}
	}
	n := h.Counted()
	var ended int64
	for _, count := range n.ClaimsEnded {
		ended += count
	}
	if n.Claims != 0 || n.Executors != 0 || n.ConversationsOpen != 0 || ended != n.ClaimsTaken {
		t.Errorf("left behind: %d claims, %d executors, %d open; %d claims taken, %d ended", n.Claims, n.Executors,
			n.ConversationsOpen, n.ClaimsTaken, ended)
	}
}

// race is one executor that comes and goes.
func race(t *testing.T, h *hub.Hub, i int, over <-chan struct{}) {
	agent := fmt.Sprint("a", i%2)
	for {
		offers := make(chan parley.RequestTurn, 1000)
		conn := h.Connect(func(n parley.ExecutorNotification) {
			if n.RequestTurn != nil {
				select {
				case offers <- *n.RequestTurn:
				default: // it comes again
				}
			}
		}, nil)
		p := h.LocalPrincipal(agent).On(conn)
		q := parley.RegisterExecutorParams{ExecutorID: fmt.Sprint("r", i), Agents: []string{agent}, Mode: parley.ModePush,
			Capacity: 3, GraceMs: 100}
		if _, err := one(func(done func(parley.RegisterExecutorResult, error)) {
			h.RegisterExecutor(p, &q, done)
		}); err != nil {
			t.Error(err)
		}
		life := time.After(time.Duration(50+rand.IntN(200)) * time.Millisecond)
		for alive := true; alive; {
			select {
			case o := <-offers:
				attempt(t, h, p, o)
			case <-life:
				alive = false
			case <-over:
				conn.Close()
				return
			}
		}
		conn.Close()
	}
}

// attempt takes an offer and does something with it.
func attempt(t *testing.T, h *hub.Hub, p *hub.Principal, o parley.RequestTurn) {
	may := func(err error) {
		for _, known := range []error{
			parley.ErrClaimLost, parley.ErrTurnClosed, parley.ErrNotYourTurn, parley.ErrConversationClosed, parley.ErrClaimRequired,
		} {
			if err == nil || errors.Is(err, known) {
				return
			}
		}
		t.Error(err)
	}
	id := o.ConversationID
	_, err := claimTurn(h, p, parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID})
	may(err)
	if err != nil {
		return
	}
	may((<-post(h, p, under(message(id, "half", parley.FinalityNone, "half"), o.ClaimID))).err)
	switch rand.IntN(8) {
	case 0: // hangs
	case 1:
		may(release(h, p, id, o.ClaimID, parley.ReleaseDecline))
	case 2:
		_, err := renew(h, p, id, o.ClaimID)
		may(err)
		fallthrough
	default:
		q := under(message(id, "done", parley.FinalityTurn, "done"), o.ClaimID)
		q.Turn = o.Turn
		may((<-post(h, p, q)).err)
		may((<-post(h, p, q)).err)
	}
}
