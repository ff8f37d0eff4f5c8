package hub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// isOnline reports whether a hub lists an agent as online.
func isOnline(t *testing.T, h *hub.Hub, name string) bool {
	t.Helper()
	list, err := h.ListAgents(t.Context(), h.LocalPrincipal("x"), &parley.ListAgentsParams{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Agents, func(a parley.AgentInfo) bool { return a.Name == name })
	return i >= 0 && list.Agents[i].Online
}

// TestOnlineElsewhere: executors, runners and agents that are connected to one hub are online at all, until they leave or their hub is not heard of for six seconds.
func TestOnlineElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 10*time.Millisecond)
		here, there := c.hub(0), c.hub(1)
		id := create(t, here, here.LocalPrincipal("h"), &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a"), seatsOf(parley.KindHuman, "h")...), StartsWith: "h",
		})
		say(t, here, here.LocalPrincipal("h"), message(id, "1", parley.FinalityTurn, ""))
		missing := func() bool {
			t.Helper()
			r, err := there.GetGuidance(t.Context(), there.LocalPrincipal("h"), &parley.GetGuidanceParams{ConversationID: id})
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(r.Guidance.Reason, "No executor of a is registered")
		}
		c.settle()
		if !missing() || isOnline(t, there, "a") {
			t.Error("a is there before it has come")
		}
		r := push(t, here, "r", "a")
		x := hosts(t, here, counter("count"))
		remove, err := here.RegisterAgent(parley.AgentInfo{Name: "inside", Type: parley.AgentTypeFunction, Description: "d"})
		if err != nil {
			t.Fatal(err)
		}
		pass(200 * time.Millisecond)
		if missing() {
			t.Error("the executor of a is at another hub, and is taken to be nowhere")
		}
		for _, name := range []string{"a", "count", "inside"} {
			if !isOnline(t, there, name) {
				t.Errorf("%s is connected to another hub, and not online", name)
			}
		}
		r.conn.Close()
		remove()
		pass(200 * time.Millisecond)
		if !missing() || isOnline(t, there, "a") || isOnline(t, there, "inside") {
			t.Error("who has left is still there")
		}
		c.nodes[0].peer.Cut(true)
		pass(5 * time.Second)
		if !isOnline(t, there, "count") {
			t.Error("a hub was forgotten that was heard of 5 s ago")
		}
		pass(4 * time.Second)
		if isOnline(t, there, "count") {
			t.Error("a hub that is not heard of is still there")
		}
		c.nodes[0].peer.Cut(false)
		pass(3 * time.Second)
		if !isOnline(t, there, "count") {
			t.Error("it is heard of again, and its runner is not online")
		}
		x.conn.Close()
	})
}

// TestCountedOnce: a hub counts only its own writes.
func TestCountedOnce(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		id := asked(t, c.hub(0), &parley.Limits{TurnTimeoutMs: 10_000})
		c.settle()
		mustClaim(t, c.hub(1), "a", id, 1)
		pass(20 * time.Second)
		var taken, ended int64
		for i := range c.nodes {
			n := c.hub(i).Counted()
			taken, ended = taken+n.ClaimsTaken, ended+n.ClaimsEnded[parley.ClaimExpired]
		}
		if taken != 1 || ended != 1 {
			t.Errorf("one claim was counted %d times, and its end %d times", taken, ended)
		}
	})
}

// TestPresenceInParts: a report that exceeds one message is sent in several.
func TestPresenceInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 0)
		const many = 90
		for i := range many {
			_, err := c.hub(0).RegisterAgent(parley.AgentInfo{Name: fmt.Sprint("agent", i), Type: parley.AgentTypeFunction,
				Description: strings.Repeat("d", 1000)})
			if err != nil {
				t.Fatal(err)
			}
		}
		c.settle()
		for i := range many {
			if !isOnline(t, c.hub(1), fmt.Sprint("agent", i)) {
				t.Fatalf("agent%d is not online", i)
			}
		}
	})
}

// TestRunnerMoves: a runner that goes from one hub to another stays; one that has left all of them leaves once.
func TestRunnerMoves(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		x := hosts(t, c.hub(0), counter("count"))
		c.settle()
		y := hosts(t, c.hub(1), counter("count"))
		x.conn.Close()
		pass(10 * time.Minute)
		if got := c.count("~runners", parley.KindRunnerLeft); got != 0 {
			t.Fatalf("the runner is at another hub, and has left %d times", got)
		}
		y.conn.Close()
		pass(170 * time.Second)
		if got := c.count("~runners", parley.KindRunnerLeft); got != 0 {
			t.Fatalf("it has left after 170 s, %d times", got)
		}
		before := c.writes()
		pass(15 * time.Second)
		if got, tries := c.count("~runners", parley.KindRunnerLeft), c.writes()-before; got != 1 || tries != 1 {
			t.Errorf("it has left %d times, with %d tries", got, tries)
		}
		for i := range c.nodes {
			if isOnline(t, c.hub(i), "count") {
				t.Errorf("hub %d still lists it", i)
			}
		}
	})
}

// TestRunnerComesBack: a hub does not write that a runner left after an event in which the runner
// registered again.
func TestRunnerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, time.Millisecond)
		x := hosts(t, c.hub(0), counter("count"))
		c.settle()
		x.conn.Close()
		pass(time.Second)
		c.nodes[1].peer.Cut(true)
		pass(100 * time.Second)
		c.nodes[1].Pause()
		y := hosts(t, c.hub(0), counter("count"), counter("more"))
		pass(100 * time.Second) // the other hub does not know
		c.nodes[1].Resume()
		pass(10 * time.Second)
		if got := c.count("~runners", parley.KindRunnerLeft); got != 0 {
			t.Errorf("it has left %d times, and is there", got)
		}
		y.conn.Close()
	})
}

// TestRunnerOutOfSight: hubs that do not hear of each other take a runner to be gone. The one to which it is connected says that it is not.
func TestRunnerOutOfSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, time.Millisecond)
		hosts(t, c.hub(0), counter("count"))
		c.settle()
		c.nodes[0].peer.Cut(true)
		pass(4 * time.Minute)
		if got := c.count("~runners", parley.KindRunnerLeft); got == 0 {
			t.Fatal("the other hub has not lost sight of it: this test shows nothing")
		}
		c.nodes[0].peer.Cut(false)
		pass(10 * time.Second)
		for i := range c.nodes {
			if !isOnline(t, c.hub(i), "count") {
				t.Errorf("hub %d does not list it", i)
			}
		}
	})
}

// TestDeltasElsewhere: deltas reach the subscribers of other hubs while their claim is current.
func TestDeltasElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 20*time.Millisecond)
		here, there := c.hub(0), c.hub(1)
		id := create(t, here, here.LocalPrincipal("h"), &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a"), seatsOf(parley.KindHuman, "h")...),
		})
		claim := mustClaim(t, here, "a", id, 1)
		c.settle()
		s, err := there.Subscribe(t.Context(), there.LocalPrincipal("h"), &parley.SubscribeParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		told := func() (texts []string) {
			synctest.Wait()
			for {
				items, err := s.Poll(t.Context(), 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range items {
					if i.Delta != nil {
						texts = append(texts, i.Delta.Text)
					}
				}
				if len(items) == 0 {
					return texts
				}
			}
		}
		told()
		send := func(h *hub.Hub, claim, text string) error {
			_, err := one(func(done func(int, error)) {
				h.SendDelta(h.LocalPrincipal("a"), &parley.SendDeltaParams{ConversationID: id, Turn: 1, ClaimID: claim,
					Text: text}, func(err error) { done(0, err) })
			})
			return err
		}
		for _, text := range []string{"x", "y"} {
			if err := send(here, claim.ClaimID, text); err != nil {
				t.Fatal(err)
			}
		}
		if got := told(); !slices.Equal(got, []string{"x", "y"}) {
			t.Errorf("told %q", got)
		}
		c.nodes[0].Pause() // here it is not known that the claim is over
		if _, err := one(func(done func(parley.EmptyResult, error)) {
			there.ReleaseClaim(there.LocalPrincipal("a"), &parley.ReleaseClaimParams{ConversationID: id, ClaimID: claim.ClaimID,
				Outcome: parley.ReleaseDecline}, done)
		}); err != nil {
			t.Fatal(err)
		}
		if err := send(here, claim.ClaimID, "late"); err != nil {
			t.Fatalf("the hub is behind and takes it: %v", err)
		}
		if got := told(); len(got) > 0 {
			t.Errorf("told %q of a claim that has ended", got)
		}
		c.nodes[0].Resume()
	})
}
