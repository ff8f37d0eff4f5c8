package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
)

// talks and rounds are how many conversations there are in which everybody may speak, and in which
// a human and an agent take turns.
const talks, rounds = 3, 2

// parent is the conversation out of which sessions are started.
const parent = "parent"

func talkOf(i int) string  { return fmt.Sprintf("talk%d", i) }
func roundOf(i int) string { return fmt.Sprintf("round%d", i) }

// policyOf returns the policy of a round.
func policyOf(round string) parley.PolicyKind {
	if round == roundOf(0) {
		return parley.PolicyAddressed
	}
	return parley.PolicyRoundRobin
}

// lasting returns the conversations that exist until the end.
func lasting() []string {
	ids := []string{parent}
	for i := range talks {
		ids = append(ids, talkOf(i))
	}
	for i := range rounds {
		ids = append(ids, roundOf(i))
	}
	return ids
}

func seats(kind parley.ParticipantKind, ids ...string) []parley.Participant {
	var all []parley.Participant
	for _, id := range ids {
		all = append(all, parley.Participant{ID: id, Kind: kind})
	}
	return all
}

// settle creates the conversations that exist until the end.
func (w *world) settle() {
	open := &parley.Policy{Kind: parley.PolicyOpen}
	for i := range talks {
		w.create(&parley.CreateConversationParams{
			ConversationID: talkOf(i), Participants: append(seats(parley.KindPeer, "w1", "w2", "w3"), seats(parley.KindHuman,
				"d")...), Policy: open,
		})
	}
	r := w.random("places")
	for i := range rounds {
		length := w.plan.turns.Milliseconds()
		w.create(&parley.CreateConversationParams{
			ConversationID: roundOf(i), Participants: append(seats(parley.KindHuman, "d"), seats(parley.KindAgent, "a")...),
			Policy: &parley.Policy{Kind: policyOf(roundOf(i))},
			Limits: &parley.Limits{
				TurnTimeoutMs: length, MaxClaimMs: 3 * length, ClaimWindowMs: 100, MaxAttempts: pick(r, 3, 100),
				OnTurnTimeout: pick(r, parley.TurnReoffer, parley.TurnSkip),
			},
		})
	}
	w.create(&parley.CreateConversationParams{ConversationID: parent, Participants: seats(parley.KindHuman, "d", "s"),
		Policy: open})
}

func (w *world) create(q *parley.CreateConversationParams) {
	if _, err := w.clients[0].CreateConversation(context.Background(), q); err != nil {
		w.t.Fatalf("seed %d: create %s: %v", w.plan.seed, q.ConversationID, err)
	}
}

// place returns where a writer speaks next: in a talk, or in what was made last.
func (w *world) place(r *rand.Rand) string {
	if r.IntN(6) == 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.made); n > 0 {
			return w.made[n-1-r.IntN(min(n, 3))]
		}
	}
	return talkOf(r.IntN(talks))
}

// make makes conversations, lets others speak there for a while, and closes them, while the others
// continue.
func (w *world) make(c parley.Client) {
	r := w.random("maker")
	for count := 1; w.acts(r); count++ {
		id := w.make1(c, fmt.Sprintf("made.%d", count))
		if id == "" {
			continue
		}
		w.mu.Lock()
		w.made = append(w.made, id)
		w.mu.Unlock()
		w.pause(between(r, 0, 4*w.plan.pace))
		w.close(c, id, r.IntN(2) == 0)
	}
}

// make1 creates a conversation with a key, and repeats the call, which must return the same one. It
// returns "" if the outcome is unknown.
func (w *world) make1(c parley.Client, key string) string {
	ctx, cancel := context.WithTimeout(w.bounded, 5*time.Second)
	defer cancel()
	q := &parley.CreateConversationParams{
		Participants: append(seats(parley.KindHuman, "m"), seats(parley.KindPeer, "w1", "w2", "w3")...),
		Policy:       &parley.Policy{Kind: parley.PolicyOpen}, ClientRequestID: key,
	}
	first, err := c.CreateConversation(ctx, q)
	w.note("m makes %s: %v", key, err)
	if err != nil {
		return ""
	}
	again, err := c.CreateConversation(ctx, q)
	if err == nil && again.ConversationID != first.ConversationID {
		w.problem(3, "the key %s has made %s and %s", key, first.ConversationID, again.ConversationID)
	}
	return first.ConversationID
}

// close closes a conversation: by a message, or by closeConversation.
func (w *world) close(c parley.Client, id string, byMessage bool) {
	ctx, cancel := context.WithTimeout(w.bounded, 5*time.Second)
	defer cancel()
	var seq int64
	var err error
	if byMessage {
		s := words{saying: saying{conversation: id, from: "m", text: "bye." + id, key: "bye"},
			finality: parley.FinalityConversation}
		answered := w.says(s.saying)
		r, failed := c.SendMessage(ctx, s.params().(*parley.SendMessageParams))
		answered(sent(r, failed))
		seq, _, err = sent(r, failed)
	} else {
		r, failed := c.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: id})
		if err = failed; err == nil {
			seq = r.Seq
		}
		w.note("m closes %s: %d %v", id, seq, err)
	}
	if err != nil {
		return
	}
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	w.closings = append(w.closings, closing{id, seq, w.stamps.Add(1)})
}
