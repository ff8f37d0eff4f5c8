package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
)

const request = `[{"schema_name":"tool.request.v1","role":"trigger","context_match":[{"path":"$.tool","op":"eq","value":"calc"}]}]`

// TestNoteStartsASession is the seed's flow of tools: a request names the tool and its input, and the answer says for what it is one.
func TestNoteStartsASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", request))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		noting(t, h, ann, id, "tool.request.v1", `{"tool":"other","input":{"n":1}}`)
		noting(t, h, ann, id, "tool.note.v1", `{"tool":"calc","input":{"n":1}}`)
		x.noOffer()
		seq := noting(t, h, ann, id, "tool.request.v1", `{"tool":"calc","input":{"n":3}}`)
		ses := x.works(`the answer is <3>`)
		logIs(t, j, id, seq, "note ann tool.request.v1", "woken calc", "begun calc", "over completed",
			"note calc tool.response.v1")
		if got := parameters(t, j, ses); got != `{"n":3,"depth":2}` {
			t.Errorf("parameters %s", got)
		}
		all, notes := answered(t, j, id)
		want := parley.Answer{Agent: "calc", SessionID: ses, TriggerSeq: seq, Status: parley.SessionCompleted,
			Text: "the answer is <3>"}
		if len(all) != 1 || fmt.Sprint(all[0]) != fmt.Sprint(want) {
			t.Fatalf("answers %+v, want %+v", all, want)
		}
		if c := notes[0].Cause; c == nil || c.Seq != seq || c.ConversationID != "" || notes[0].Hops != 1 {
			t.Errorf("the answer has cause %+v and %d hops", c, notes[0].Hops)
		}
		if strings.Contains(string(notes[0].Raw()), `\u003c`) {
			t.Errorf("the note is escaped: %s", notes[0].Raw())
		}
		s := session(t, h, ann, ses)
		if s.ParentConversationID != id || s.CreatedBy != "ann" || s.Mode != parley.ModeAsyncPoll || s.Depth != 1 {
			t.Errorf("session %+v", s)
		}
		record := recordOf(t, j, ses)
		if record.Trigger == nil || *record.Trigger != (parley.SessionTrigger{Seq: seq}) || record.Hops != 1 ||
			record.Cause == nil || *record.Cause != (parley.Cause{ConversationID: id, Seq: seq}) {
			t.Errorf("record %+v", record)
		}
		quiet(t, h)
	})
}

// TestMessageGivesATurn is the specified flow of agents: the message of a person triggers the
// agent, which alone has the floor then. All its triggers are one turn.
func TestMessageGivesATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		b := thinker("bot")
		b.Subscriptions = json.RawMessage(`[{"schema_name":"user.message.v1"},{"schema_name":"page.v1","role":"context"}]`)
		x := speaker(t, h, "ops", 4, []string{"bot"}, nil)
		synctest.Wait()
		x.says(b)
		bot := push(t, h, "w", "bot")
		ann := h.LocalPrincipal("ann")
		q := hall("other")
		q.Participants = append(q.Participants, parley.Participant{ID: "robo", Kind: parley.KindAgent, Agent: "bot"})
		id := create(t, h, ann, q)
		words := func(schema string) *parley.SendMessageParams {
			m := message(id, "hello", parley.FinalityTurn, "")
			m.Payload = json.RawMessage(`{"text":"hello","schema":"` + schema + `","data":{"q":1}}`)
			return m
		}
		say(t, h, ann, words("page.v1")) // a context selector triggers no agent
		bot.noOffer()
		seq := say(t, h, ann, words("user.message.v1")).Seq
		o := bot.oneOffer()
		claim := bot.take(id, o.ClaimID)
		if row := explained(t, h, ann, id, seq, "robo"); row.State != parley.TriggerRunning || !row.Woken || row.SessionID != "" {
			t.Errorf("row %+v", row)
		}
		m := message(id, "hi", parley.FinalityTurn, "")
		m.ClaimID = claim.ClaimID
		say(t, h, bot.p, m)
		logIs(t, j, id, seq, "message ann turn", "woken robo", "claimed robo", "message robo turn")
		last := events(t, j, id)
		if e := last[len(last)-1]; e.Cause == nil || e.Cause.Seq != seq || e.Hops != 1 {
			t.Errorf("the answer has cause %+v and %d hops", e.Cause, e.Hops)
		}
		if row := explained(t, h, ann, id, seq, "robo"); row.State != parley.TriggerFinished {
			t.Errorf("row %+v", row)
		}
		if row := explained(t, h, ann, id, seq, "other"); row.Woken || row.WouldWake ||
			row.Because != "other has no subscriptions." {
			t.Errorf("row %+v", row)
		}
		if row := explained(t, h, ann, id, seq+3, "robo"); row.WouldWake || row.Selectors[0].Matched ||
			row.Selectors[0].Because == "" || row.Selectors[1].Role != parley.RoleContext {
			t.Errorf("row %+v", row)
		}
	})
}

// TestOtherPoliciesDecide: under another policy than triggers, a message triggers no participant,
// and the dry run explains why.
func TestOtherPoliciesDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		listeners(t, h, listens("calc", `[{}]`))
		ann := h.LocalPrincipal("ann")
		q := hall("calc")
		q.Policy = &parley.Policy{Kind: parley.PolicyOpen}
		id := create(t, h, ann, q)
		seq := say(t, h, ann, message(id, "hello", parley.FinalityTurn, "")).Seq
		logIs(t, j, id, seq, "message ann turn")
		row := explained(t, h, ann, id, seq, "calc")
		if row.WouldWake || !strings.Contains(row.Because, "policy open") || !row.Selectors[0].Matched {
			t.Errorf("row %+v", row)
		}
		_, err := h.ExplainTriggers(t.Context(), ann, &parley.ExplainTriggersParams{ConversationID: id, Seq: 1})
		refused(t, err, parley.ErrValidationFailed)
		for _, out := range []int64{0, -1, seq + 1} {
			_, err := h.ExplainTriggers(t.Context(), ann, &parley.ExplainTriggersParams{ConversationID: id, Seq: out})
			refused(t, err, parley.ErrValidationFailed)
		}
		_, err = h.ExplainTriggers(t.Context(), h.LocalPrincipal("eve"),
			&parley.ExplainTriggersParams{ConversationID: id, Seq: seq})
		refused(t, err, parley.ErrNotFound)
	})
}

// TestOwnWords: an agent is not woken by what it says itself, also by its answers, unless it asks for that; then the limits hold.
func TestOwnWords(t *testing.T) {
	for _, self := range []bool{false, true} {
		t.Run(fmt.Sprint(self), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, counted("x"))
				b := counter("calc")
				b.ParametersSchema = json.RawMessage(`{"type":"object"}`)
				b.Subscriptions = json.RawMessage(fmt.Sprintf(`{"selectors":[{}],"include_self":%t}`, self))
				x := listeners(t, h, b)
				ann := h.LocalPrincipal("ann")
				q := hall("calc")
				q.Limits = &parley.Limits{MaxHops: 3}
				id := create(t, h, ann, q)
				seq := noting(t, h, ann, id, "s.v1", `{}`)
				want := []string{"note ann s.v1", "woken calc", "begun calc", "over completed", "note calc tool.response.v1"}
				n := 1
				if self {
					n = 3
					for range 2 {
						want = append(want, "woken calc", "begun calc", "over completed", "note calc tool.response.v1")
					}
					want = append(want, "woken calc max_hops")
				}
				for range n {
					x.works("done")
				}
				x.noOffer()
				logIs(t, j, id, seq, want...)
				row := explained(t, h, ann, id, seq+4, "calc")
				if self != (row.State == parley.TriggerFinished) || self == strings.Contains(row.Because, "own words") {
					t.Errorf("row %+v", row)
				}
			})
		})
	}
}

// TestTwoThatWakeEachOther stop at maxHops, and the log says so.
func TestTwoThatWakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		a, b := listens("a", onSchema("b.response.v1")), listens("b", onSchema("a.response.v1"))
		a.ParametersSchema, b.ParametersSchema = json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"object"}`)
		a.Subscriptions = json.RawMessage(`{"selectors":` + onSchema("b.response.v1") + `,"answer_schema":"a.response.v1"}`)
		b.Subscriptions = json.RawMessage(`{"selectors":` + onSchema("a.response.v1") + `,"answer_schema":"b.response.v1"}`)
		x := listeners(t, h, a, b)
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("a", "b"))
		seq := noting(t, h, ann, id, "a.response.v1", `{}`)
		for range parley.DefaultMaxHops {
			x.works("please, after you")
		}
		x.noOffer()
		story := storyOf(t, j, id, seq)
		if last := story[len(story)-1]; last != "woken b max_hops" && last != "woken a max_hops" {
			t.Fatalf("the log ends with %q", last)
		}
		if all, _ := answered(t, j, id); len(all) != parley.DefaultMaxHops+1 { // ann's note is counted too
			t.Fatalf("%d answers", len(all))
		}
		last := events(t, j, id)
		row := explained(t, h, ann, id, last[len(last)-2].Seq, "b")
		if other := explained(t, h, ann, id, last[len(last)-2].Seq, "a"); row.State != parley.TriggerStopped &&
			other.State != parley.TriggerStopped {
			t.Errorf("rows %+v and %+v", row, other)
		}
	})
}

// TestPairs: within a minute one agent's events wake another no more often than maxWakesPerMinute says, however many hops there may be.
func TestPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", `[{}]`))
		q := hall("calc", "talker")
		q.Limits = &parley.Limits{MaxWakesPerMinute: 2}
		ann, talker := h.LocalPrincipal("ann"), h.LocalPrincipal("talker")
		id := create(t, h, ann, q)
		for range 5 {
			noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`) // what people say is not counted
		}
		if got := len(x.offered()); got != 5 {
			t.Fatalf("%d offers", got)
		}
		for range 5 {
			noting(t, h, talker, id, "s.v1", `{"input":{"n":1}}`)
		}
		if got := len(x.offered()); got != 2 {
			t.Fatalf("%d offers for what the agent has said", got)
		}
		stopped := func() int {
			return len(slices.DeleteFunc(storyOf(t, j, id, 1), func(s string) bool { return s != "woken calc max_wakes" }))
		}
		if stopped() != 3 {
			t.Fatalf("%d are stopped", stopped())
		}
		pass(61e9)
		noting(t, h, talker, id, "s.v1", `{"input":{"n":1}}`)
		story := storyOf(t, j, id, 1)
		if synctest.Wait(); stopped() != 3 || !slices.Contains(story[len(story)-2:], "woken calc") {
			t.Fatalf("a minute later: %v", story)
		}
	})
}

// TestTwoSeatsOfOneAgent: what one seat says is not the other's own words, though both are of one agent; the limits hold for both.
func TestTwoSeatsOfOneAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		q := hall()
		q.Participants = append(q.Participants, parley.Participant{ID: "pro", Kind: parley.KindTool, Agent: "calc"},
			parley.Participant{ID: "contra", Kind: parley.KindTool, Agent: "calc"})
		id := create(t, h, ann, q)
		seq := noting(t, h, h.LocalPrincipal("pro"), id, "s.v1", `{"input":{"n":1}}`)
		logIs(t, j, id, seq, "note pro s.v1", "woken contra", "begun calc")
	})
}
