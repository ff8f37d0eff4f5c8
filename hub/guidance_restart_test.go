package hub_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/promise"
)

// TestGuidanceOverRestart: a hub that has read the log again returns the same guidance: to all
// participants, at every step of conversations in which people and agents speak, name each other,
// and skip their turns.
func TestGuidanceOverRestart(t *testing.T) {
	const conversations, steps = 12, 12
	told, violations := 0, 0
	for seed := range uint64(conversations) {
		rng := rand.New(rand.NewPCG(seed, 15))
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		id := create(t, h, h.LocalPrincipal("ann"), talk(seed))
		for step := range steps {
			speak(t, h, rng, id, talk(seed).Policy)
			before := guidanceOf(t, h, id)
			h, j = again(t, h, j, fmt.Sprint(seed, step))
			after := guidanceOf(t, h, id)
			told += len(after)
			for who, g := range before {
				if !reflect.DeepEqual(g, after[who]) {
					violations++
					t.Errorf("seed %d, step %d: %s was told %+v, and after a restart %+v", seed, step, who, g, after[who])
				}
			}
		}
	}
	promise.ID(15).Kept(t, promise.Tried{Faults: conversations * steps, Operations: told, Violations: violations})
}

// speakers take part in a talk; the last two are agents.
var speakers = []string{"ann", "bob", "kim", "lee"}

// talk returns one policy after another.
func talk(seed uint64) *parley.CreateConversationParams {
	q := &parley.CreateConversationParams{Policy: &parley.Policy{Kind: []parley.PolicyKind{
		parley.PolicyAddressed, parley.PolicyModerator, parley.PolicyRoundRobin, parley.PolicyOpen,
	}[seed%4]}}
	for i, who := range speakers {
		q.Participants = append(q.Participants, parley.Participant{ID: who, Kind: []parley.ParticipantKind{
			parley.KindHuman, parley.KindHuman, parley.KindAgent, parley.KindAgent,
		}[i]})
	}
	if q.Policy.Kind == parley.PolicyModerator {
		q.Policy.Moderator = "bob"
	}
	return q
}

// speak lets the holder of the floor address a participant, or skips the turn of an agent.
func speak(t *testing.T, h *hub.Hub, rng *rand.Rand, id string, policy *parley.Policy) {
	t.Helper()
	told := guidanceOf(t, h, id)
	who := told["ann"].Speaker
	if who == "" { // anybody may
		who = speakers[rng.IntN(len(speakers))]
	}
	p, g := h.LocalPrincipal(who), told[who]
	if rng.IntN(3) == 0 && (who == "kim" || who == "lee") {
		claim, err := claimTurn(h, p, parley.ClaimTurnParams{ConversationID: id, Turn: g.Turn})
		if err == nil {
			err = release(h, p, id, claim.ClaimID, parley.ReleaseYield)
		}
		if err != nil {
			t.Fatalf("%s lets its turn go by: %v", who, err)
		}
		return
	}
	q := message(id, "well, @"+speakers[rng.IntN(len(speakers))], parley.FinalityTurn, "")
	if next := speakers[rng.IntN(len(speakers))]; next != who &&
		(policy.Kind == parley.PolicyAddressed || who == policy.Moderator) {
		q.TurnHint = &parley.TurnHint{Next: next}
	}
	say(t, h, p, q)
}

// guidanceOf returns the guidance of all participants.
func guidanceOf(t *testing.T, h *hub.Hub, id string) map[string]parley.Guidance {
	t.Helper()
	all := map[string]parley.Guidance{}
	for _, who := range speakers {
		r, err := h.GetGuidance(t.Context(), h.LocalPrincipal(who),
			&parley.GetGuidanceParams{ConversationID: id, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		r.Guidance.DeadlineMs = 0
		all[who] = r.Guidance
	}
	return all
}

// again kills a hub and starts another on what is left.
func again(t *testing.T, h *hub.Hub, j *memory.Journal, prefix string) (*hub.Hub, *memory.Journal) {
	t.Helper()
	next := crash(t, j)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return startOn(t, next, counted("x"+prefix)), next
}
