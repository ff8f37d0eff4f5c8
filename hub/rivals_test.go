package hub_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
)

// told reports whether the runner was notified that another connection registered as its executor.
func (r *runner) told() bool {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replaced
}

// rivalsTold bounds the time until an executor ends because of a newer one at another hub.
const rivalsTold = time.Second

// TestExecutorAtTwoHubs: of two connections of one executor the older one ends, at any hub, and the
// turn continues at the other.
func TestExecutorAtTwoHubs(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		older := push(t, c.hub(0), "r", "a")
		namesake := push(t, c.hub(0), "r", "b") // another caller's executor
		id := asked(t, c.hub(1), nil)
		pass(time.Second)
		claim := older.claim()
		newer := connect(t, c.hub(1), c.hub(1).LocalPrincipal("a"))
		got := newer.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r", Agents: []string{"a"},
			Mode: parley.ModePush, Holding: []string{claim.ClaimID}})
		if len(got.Holding) != 1 || got.Ended != 0 {
			t.Fatalf("registered with %+v", got)
		}
		pass(rivalsTold)
		if !older.told() || newer.told() || namesake.told() {
			t.Errorf("told to end: the older one %v, the newer one %v, that of somebody else %v", older.told(), newer.told(), namesake.told())
		}
		pass(20 * time.Second) // the grace of the claim, had it lost its executor
		say(t, c.hub(1), newer.p, message(id, "done", parley.FinalityTurn, ""))
		if n := c.count(id, parley.KindClaimEnded); n != 0 {
			t.Errorf("%d claims have ended", n)
		}
		say(t, c.hub(0), c.hub(0).LocalPrincipal("b"), message(id, "more", parley.FinalityTurn, ""))
		pass(time.Second)
		if got := newer.offered(); len(got) != 1 || len(older.offered()) != 0 {
			t.Errorf("the next turn is offered to the newer one %d times", len(got))
		}
	})
}

// TestOlderStaysOlder: a new registration on the older connection, while the hubs have lost
// contact, does not make it the newer one.
func TestOlderStaysOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 0)
		older := push(t, c.hub(0), "r", "a")
		c.settle()
		c.nodes[0].peer.Cut(true)
		newer := push(t, c.hub(1), "r", "a")
		pass(time.Second)
		older.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r", Agents: []string{"a"}, Mode: parley.ModePull})
		pass(20 * time.Second)
		if older.told() || newer.told() {
			t.Fatal("one was told by a hub that does not hear of the other")
		}
		c.nodes[0].peer.Cut(false)
		pass(3*time.Second + rivalsTold) // until it is reported again
		if !older.told() || newer.told() {
			t.Errorf("told to end: the older one %v, the newer one %v", older.told(), newer.told())
		}
	})
}

// TestNewerWhateverTheClocks: which of two is the newer one is right also where clocks are wrong, once the hubs have heard of each other.
func TestNewerWhateverTheClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, time.Millisecond, -10*time.Minute, 10*time.Minute)
		last := push(t, c.hub(1), "r", "a")
		for round := range 6 {
			pass(time.Second)
			next := push(t, c.hub(round%2), "r", "a")
			pass(rivalsTold)
			if !last.told() || next.told() {
				t.Fatalf("round %d: the older one was told %v, the newer one %v", round, last.told(), next.told())
			}
			last = next
		}
	})
}

// TestEveryHubHasItsOwn: executors inside the hubs have the same name at all hubs, and all stay.
func TestEveryHubHasItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 0)
		ctx, stop := context.WithCancel(t.Context())
		ends := make(chan error, 2)
		for i := range c.nodes {
			inside := c.hub(i).Client(c.hub(i).LocalPrincipal("a"))
			t.Cleanup(func() { _ = inside.Close() })
			go func() {
				for _, err := range inside.RegisterExecutor(ctx, &parley.RegisterExecutorParams{ExecutorID: "local",
					Agents: []string{"a"}, Mode: parley.ModePush}, nil) {
					if err != nil {
						ends <- err
						return
					}
				}
				ends <- nil
			}()
			pass(time.Second)
		}
		pass(20 * time.Second)
		select {
		case err := <-ends:
			t.Fatalf("one has ended: %v", err)
		default:
		}
		stop()
		for range c.nodes {
			if err := <-ends; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}
