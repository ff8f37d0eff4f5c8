package hub_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// narrowPush registers an executor of several agents that takes one turn at a time.
func narrowPush(t testing.TB, h *hub.Hub, agents ...string) *runner {
	t.Helper()
	r := connect(t, h, h.LocalPrincipal("ops").SpeakingAs(agents...))
	r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "w", Agents: agents, Mode: parley.ModePush, Capacity: 1})
	return r
}

// TestLongestWaitingIsFirst: where an executor has less room than there are turns, it is asked for the one that has waited longest, whatever its conversation is called and
// whichever of its agents it is for, and after a restart too.
func TestLongestWaitingIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("h0"))
		var want []string
		const n = 24
		for i := range n {
			agent := []string{"a", "b"}[i%2]
			id := create(t, h, h.LocalPrincipal("ann"), &parley.CreateConversationParams{
				ConversationID: fmt.Sprintf("c%02d", i*7%n), StartsWith: agent,
				Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: agent, Kind: parley.KindAgent}},
			})
			want = append(want, id)
			time.Sleep(time.Second) // in the bubble
		}
		var got []string
		r := narrowPush(t, h, "b", "a")
		for len(got) < n {
			o := r.oneOffer()
			got = append(got, o.ConversationID)
			m := message(o.ConversationID, "here", parley.FinalityTurn, "")
			m.ClaimID = r.take(o.ConversationID, o.ClaimID).ClaimID
			say(t, h, r.p, m)
			if len(got) == n/2 {
				synctest.Wait()
				j = crash(t, j)
				h = startOn(t, j, counted("h1"))
				r = narrowPush(t, h, "b", "a")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the turns were offered in the order %v, want %v", got, want)
		}
		r.noOffer()
	})
}
