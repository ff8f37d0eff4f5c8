package executors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// In pull mode, an agent that is added to an old conversation finds its seat.
func TestAddedLater(t *testing.T) {
	inWorld(t, func(w *world) {
		old := w.create(agents("b"))
		for range 150 { // more than a page
			w.create(agents("a"))
		}
		sees := w.client("a", append(parley.DefaultScopes, parley.ScopeAdmin)...) // all conversations, in the order of their creation
		r := w.run(sees, talk(2),
			&executors.Options{Mode: parley.ModePull, Accept: func(id string) bool { return id == old }})
		time.Sleep(10 * time.Second)
		if _, err := w.admin.AddParticipant(w.Context(), &parley.AddParticipantParams{
			ConversationID: old, Participant: parley.Participant{ID: "a", Kind: parley.KindAgent},
		}); err != nil {
			w.Fatal(err)
		}
		if _, err := w.client("b").SendMessage(w.Context(), &parley.SendMessageParams{
			ConversationID: old, Payload: []byte(`{"text":"come in"}`), Finality: parley.FinalityTurn,
		}); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := w.count(old, "2 a conversation: a 2"); n != 1 {
			w.Errorf("the log is %q", w.log(old))
		}
		w.stopped(r)
	})
}

// In pull mode, where any participant may speak, an agent ignores withdrawn messages. Otherwise it
// would answer its own message.
func TestNoAnswerToWithdrawnWords(t *testing.T) {
	inWorld(t, func(w *world) {
		p := limited(parley.Limits{TurnTimeoutMs: 3_600_000, MaxAttempts: 1, OnTurnTimeout: parley.TurnSkip}, "a", "b")
		p.Policy = &parley.Policy{Kind: parley.PolicyOpen}
		id := w.create(p)
		r := w.run(w.client("b"), talk(0), &executors.Options{Mode: parley.ModePull})
		time.Sleep(5 * time.Second)
		a := w.client("a")
		half, err := a.SendMessage(w.Context(),
			&parley.SendMessageParams{ConversationID: id, Payload: []byte(`{"text":"half"}`), Finality: parley.FinalityNone})
		if err != nil {
			w.Fatal(err)
		}
		time.Sleep(3 * parley.MaxWaitMs * time.Millisecond) // b read it
		if err := a.ReleaseClaim(w.Context(),
			&parley.ReleaseClaimParams{ConversationID: id, ClaimID: half.ClaimID, Outcome: parley.ReleaseFailed}); err != nil {
			w.Fatal(err)
		}
		time.Sleep(3 * parley.MaxWaitMs * time.Millisecond)
		w.stopped(r)
		want := []string{"1 b claimed, attempt 1", "1 b turn: b 1", "2 a claimed, attempt 1", "2 a none: half",
			"2 ended failed", "2 a skipped"}
		if got := strings.Join(w.log(id), "|"); got != strings.Join(want, "|") {
			w.Errorf("the log is\n%s", got)
		}
	})
}
