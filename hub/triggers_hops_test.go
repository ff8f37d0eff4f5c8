package hub_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
)

// TestHopsGoOn: everything that follows from a trigger has its hops: sessions that the session
// starts, those that a triggered turn starts, and what the hub writes about them.
func TestHopsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		b := thinker("bot")
		b.Subscriptions = json.RawMessage(`[{"schema_name":"user.message.v1"}]`)
		calc := listens("calc", onSchema("s.v1"))
		x := speaker(t, h, "ops", 10, []string{"bot", "calc"}, nil)
		synctest.Wait()
		x.says(b, calc, counter("count"))
		bot := push(t, h, "w", "bot")
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("bot", "calc"))
		m := message(id, "", parley.FinalityTurn, "")
		m.Payload = json.RawMessage(`{"text":"hello","schema":"user.message.v1"}`)
		seq := say(t, h, ann, m).Seq
		claim := bot.claim().ClaimID
		s := start(t, h, bot.p, counts("count", 1, parley.ModeAsyncCallback, id))
		if r := recordOf(t, j, s.SessionID); r.Hops != 1 || r.Cause == nil ||
			*r.Cause != (parley.Cause{ConversationID: id, Seq: seq}) {
			t.Fatalf("the session of a woken turn has %+v, %d hops", r.Cause, r.Hops)
		}
		first := noting(t, h, bot.p, id, "s.v1", `{"input":{"n":1}}`) // within its turn
		if e := events(t, j, id)[first-1]; e.Hops != 1 || e.Cause == nil || e.Cause.Seq != seq {
			t.Fatalf("a note of a woken turn has %+v, %d hops", e.Cause, e.Hops)
		}
		answer := message(id, "hi", parley.FinalityTurn, "")
		answer.ClaimID = claim
		say(t, h, bot.p, answer)
		var woken string
		for _, o := range x.offered() {
			x.take(o.ConversationID, o.ClaimID)
			if o.ConversationID != s.SessionID {
				woken = o.ConversationID
			}
			x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done"))
			synctest.Wait()
		}
		if r := recordOf(t, j, woken); r.Hops != 2 {
			t.Fatalf("what it has woken has %d hops", r.Hops)
		}
		told := callbacks(t, j, id)
		if len(told) != 1 {
			t.Fatalf("callbacks %+v", told)
		}
		for _, e := range events(t, j, id) {
			if e.Type == parley.TypeMessage && e.From == parley.HubID && e.Hops != 1 {
				t.Errorf("the callback has %d hops", e.Hops)
			}
		}
		claim = bot.claim().ClaimID // for the callback
		again := message(id, "", parley.FinalityTurn, "")
		again.Payload, again.ClaimID = json.RawMessage(`{"text":"there","schema":"x.v1"}`), claim
		last := say(t, h, bot.p, again).Seq
		if e := events(t, j, id)[last-1]; e.Hops != 1 {
			t.Errorf("what is said of the callback has %d hops", e.Hops)
		}
	})
}
