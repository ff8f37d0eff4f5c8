package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// TestWokenStoppedHalfway: a hub is stopped at each step between a note and the answer of its
// session, once or repeatedly. The next one continues: the command starts once, and answers once.
func TestWokenStoppedHalfway(t *testing.T) {
	for point, words := range map[string]string{
		"the match is in the log, the session is not begun":     `"trigger":{"seq":2,"selector":0}`,
		"the session is begun, the conversation does not know":  `"kind":"session_started"`,
		"the session has ended, the conversation does not know": `"kind":"session_ended"`,
		"the session cannot begin, the log does not know":       `"kind":"trigger_ended"`,
		"the conversation was closed, the session has to end":   `"reason":"parent_closed"`,
		"nowhere": "no batch has these words",
	} {
		for times := 1; times <= 3; times++ {
			t.Run(fmt.Sprint(point, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { wokenStoppedHalfway(t, words, times) })
			})
		}
	}
}

func wokenStoppedHalfway(t *testing.T, words string, times int) {
	j := &refusing{Journal: newJournal(t)}
	h := startOn(t, j, counted("h0"))
	b := listens("calc", onSchema("s.v1"))
	listeners(t, h, b)
	ann := h.LocalPrincipal("ann")
	id := create(t, h, ann, hall("calc"))
	j.stop(words)
	bad, closes := strings.Contains(words, "trigger_ended"), strings.Contains(words, "parent_closed")
	data := `{"input":{"n":1}}`
	if bad {
		data = `{"input":{"n":"one"}}`
	}
	noting(t, h, ann, id, "s.v1", data)
	var x *host
	claim, i := "", 0
	again := func() {
		i++
		next := crash(t, j.Journal)
		j = &refusing{Journal: next}
		if i < times {
			j.stop(words)
		}
		h = startOn(t, j, counted(fmt.Sprint("h", i)))
		ann = h.LocalPrincipal("ann")
		if synctest.Wait(); h.Err() != nil {
			return
		}
		var holding []string
		if claim != "" {
			holding = []string{claim}
		}
		x = &host{id: "box-ops"}
		x.runner = &runner{t: t, h: h}
		x.conn = h.Connect(x.notify, func() {})
		x.p = h.LocalPrincipal("ops").SpeakingAs("calc").On(x.conn)
		x.mustRegister(parley.RegisterExecutorParams{ExecutorID: x.id, Mode: parley.ModePush, GraceMs: limits.OfflineMs,
			Capacity: 100, Holding: holding})
		synctest.Wait()
		x.says(b)
	}
	for synctest.Wait(); h.Err() != nil; synctest.Wait() {
		again()
	}
	if x == nil {
		again()
	}
	want := []string{"note ann s.v1", "woken calc", "begun calc", "over completed", "note calc tool.response.v1"}
	switch {
	case bad:
		want = []string{"note ann s.v1", "woken calc", "not calc not_started", "note calc tool.response.v1"}
	default:
		o := x.oneOffer()
		claim = o.ClaimID
		x.take(o.ConversationID, claim)
		if closes {
			shut(t, h, ann, id)
			want = append(want[:3], "message hub conversation")
		} else {
			x.ends(o.ConversationID, claim, parley.OutcomeCompleted, ran("done"))
		}
	}
	for synctest.Wait(); h.Err() != nil; synctest.Wait() {
		again()
	}
	for range 2 {
		logIs(t, j, id, 2, want...)
		x.noOffer()
		quiet(t, h)
		again()
	}
	if words != "no batch has these words" && i < times {
		t.Fatalf("it was stopped %d times, want %d", i, times)
	}
	sessions := 0
	for _, c := range conversationsOf(t, h) {
		if strings.HasPrefix(c, "ses_") {
			sessions++
		}
	}
	if want := 1; bad && sessions != 0 || !bad && sessions != want {
		t.Fatalf("%d sessions were begun", sessions)
	}
}

// conversationsOf returns the ids of all conversations.
func conversationsOf(t testing.TB, h *hub.Hub) []string {
	t.Helper()
	var ids []string
	for cursor := ""; ; {
		r, err := h.ListConversations(t.Context(), root(h), &parley.ListConversationsParams{Limit: 100, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Conversations {
			ids = append(ids, c.ConversationID)
		}
		if cursor = r.NextCursor; cursor == "" {
			return ids
		}
	}
}

// TestEndedBeforeToldOf: a session that was stopped before the conversation's log had it, and then the hub too, is answered all the same.
func TestEndedBeforeToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &refusing{Journal: newJournal(t)}
		h := startOn(t, j, counted("h0"))
		listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		j.full(`"kind":"session_started"`, -1)
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		synctest.Wait()
		ids := slices.DeleteFunc(conversationsOf(t, h), func(c string) bool { return !strings.HasPrefix(c, "ses_") })
		if len(ids) != 1 {
			t.Fatalf("sessions %v", ids)
		}
		if _, err := h.StopSession(t.Context(), ann, &parley.StopSessionParams{SessionID: ids[0]}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		j = &refusing{Journal: crash(t, j.Journal)}
		h = startOn(t, j, counted("h1"))
		logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc", "over stopped", "note calc tool.response.v1")
		quiet(t, h)
	})
}

// TestWaitingForRoomOverARestart: those that wait for room wait for it after a restart too.
func TestWaitingForRoomOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("h0"))
		b := listens("calc", onSchema("s.v1"))
		listeners(t, h, b)
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		const n = limits.MaxLiveSessions/2 + 5
		for range n {
			noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		}
		synctest.Wait()
		j = crash(t, j)
		h = startOn(t, j, counted("h1"))
		x := listeners(t, h, b)
		done := 0
		for more := x.offered(); len(more) > 0; more = x.offered() {
			for _, o := range more {
				x.take(o.ConversationID, o.ClaimID)
				x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done"))
				done++
			}
		}
		if all, _ := answered(t, j, id); done != n || len(all) != n {
			t.Fatalf("%d were run and %d answered, want %d", done, len(all), n)
		}
		quiet(t, h)
	})
}

// TestPendingTurnOverARestart: a match that waits for a turn waits after a restart too, and is given once.
func TestPendingTurnOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("h0"))
		b := thinker("bot")
		b.Subscriptions = json.RawMessage(`[{"schema_name":"user.message.v1"}]`)
		x := speaker(t, h, "ops", 4, []string{"bot"}, nil)
		synctest.Wait()
		x.says(b)
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("bot"))
		m := message(id, "", parley.FinalityTurn, "")
		m.Payload = json.RawMessage(`{"text":"hello","schema":"user.message.v1"}`)
		seq := say(t, h, ann, m).Seq
		j = crash(t, j)
		h = startOn(t, j, counted("h1"))
		bot := push(t, h, "w", "bot")
		o := bot.oneOffer()
		bot.take(id, o.ClaimID)
		answer := message(id, "hi", parley.FinalityTurn, "")
		answer.ClaimID = o.ClaimID
		say(t, h, bot.p, answer)
		pass(time.Second)
		bot.noOffer()
		logIs(t, j, id, seq, "message ann turn", "woken bot", "claimed bot", "message bot turn")
	})
}

// TestFullWhileAMatchEnds: what cannot be written because the storage is full is tried again after a pause, not at once.
func TestFullWhileAMatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &refusing{Journal: newJournal(t)}
		h := startOn(t, j, counted("x"))
		listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		j.full(`"kind":"trigger_ended"`, 3)
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":"one"}}`)
		synctest.Wait()
		j.mu.Lock()
		seen := j.seen
		j.mu.Unlock()
		if seen != 1 {
			t.Fatalf("it was tried %d times at once", seen)
		}
		logIs(t, j, id, seq, "note ann s.v1", "woken calc")
		pass(4 * time.Second)
		logIs(t, j, id, seq, "note ann s.v1", "woken calc", "not calc not_started", "note calc tool.response.v1")
	})
}

// TestSaidOnceMore: a runner that repeats its final message after a restart gets the first answer,
// also in a session whose caller it may speak as, and on one of several seats that it may take.
func TestSaidOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("h0"))
		one, two := listens("one", onSchema("go.v1")), listens("two", onSchema("tool.response.v1"))
		two.ParametersSchema = json.RawMessage(`{"type":"object"}`)
		x := listeners(t, h, one, two)
		r := narrowPush(t, h, "a", "b")
		ann := h.LocalPrincipal("ann")
		noting(t, h, ann, create(t, h, ann, hall("one", "two")), "go.v1", `{"input":{"n":1}}`)
		x.works("done") // wakes two, whose caller is one
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		ending := closing(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done too"))
		id := create(t, h, ann, &parley.CreateConversationParams{StartsWith: "b", Participants: seatsOf(parley.KindAgent, "a", "b")})
		final := message(id, "here", parley.FinalityTurn, "")
		final.ClaimID = r.claim().ClaimID
		calls := map[string]*parley.SendMessageParams{"session": ending, "seat": final}
		first := map[string]sent{}
		for name, q := range calls {
			q.ClientRequestID = "k"
			by := map[string]*hub.Principal{"session": x.p, "seat": r.p}[name]
			if first[name] = <-post(h, by, q); first[name].err != nil {
				t.Fatalf("%s: %v", name, first[name].err)
			}
		}
		next := message(id, "here too", parley.FinalityTurn, "")
		next.ClaimID = r.claim().ClaimID // of a: the claim of b is not the last any more
		say(t, h, r.p, next)
		synctest.Wait()
		j = crash(t, j)
		h = startOn(t, j, counted("h1"))
		x, r = listeners(t, h, one, two), narrowPush(t, h, "a", "b")
		for name, q := range calls {
			by := map[string]*hub.Principal{"session": x.p, "seat": r.p}[name]
			if again := <-post(h, by, q); again.err != nil || !again.Duplicate || again.Seq != first[name].Seq {
				t.Errorf("%s: %+v, want seq %d once more", name, again, first[name].Seq)
			}
		}
	})
}
