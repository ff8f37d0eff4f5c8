package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// fed returns the context of a seat.
func fed(t testing.TB, h *hub.Hub, p *hub.Principal, q parley.GetContextParams) *parley.GetContextResult {
	t.Helper()
	r, err := h.GetContext(t.Context(), p, &q)
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes != len(r.Context) {
		t.Errorf("%d bytes are said to be %d", len(r.Context), r.Bytes)
	}
	again, err := h.GetContext(t.Context(), p, &q)
	if err != nil || string(again.Context) != string(r.Context) {
		t.Errorf("another call gives %s, %v, and the first %s", again.Context, err, r.Context)
	}
	return r
}

// withoutTimes replaces every time in a context with the same one.
func withoutTimes(context json.RawMessage) string {
	parts := strings.Split(string(context), `"at":"`)
	for i := 1; i < len(parts); i++ {
		_, rest, _ := strings.Cut(parts[i], `"`)
		parts[i] = `T"` + rest
	}
	return strings.Join(parts, `"at":"`)
}

// brings fails the test unless a context is as wanted, except for times.
func brings(t testing.TB, r *parley.GetContextResult, want string) {
	t.Helper()
	if got := withoutTimes(r.Context); got != want {
		t.Errorf("the context is\n%s\nwant\n%s", got, want)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Context, &members); err != nil {
		t.Error(err)
	}
}

// sourcesAre fails the test unless the sources are these, each "key seqs", with the dropped values
// and errors.
func sourcesAre(t testing.TB, r *parley.GetContextResult, want ...string) {
	t.Helper()
	var got []string
	for _, s := range r.Sources {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", s.Key, s.Fetch)
		for _, c := range s.Events {
			fmt.Fprintf(&b, " %s%d", strings.TrimSuffix(c.ConversationID+"/", "/"), c.Seq)
		}
		if s.Dropped > 0 {
			fmt.Fprintf(&b, " -%d", s.Dropped)
		}
		if s.Error != "" {
			b.WriteString(" " + s.Error)
		}
		got = append(got, b.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("sources\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const fedBy = `[{"schema_name":"tool.request.v1","context_match":[{"path":"$.tool","op":"eq","value":"calc"}],"llm_hints":{"include":["input"]}},
	{"schema_name":"browser.page.context.v1","role":"context","llm_hints":{"exclude":["html"]}},
	{"schema_name":"tool.request.v1","role":"context","fetch":"event_data","key":"asked","llm_hints":{"template":"{{tool}}: {{input.n}} <ok>"}},
	{"schema_name":"log.v1","role":"context","fetch":"recent","limit":3,"key":"log"},
	{"schema_name":"none.v1","role":"context"},
	{"any_tags":["never"],"role":"context","fetch":"recent","key":"never"}]`

// TestContextOfASession is the context of a tool that a note started: events of the conversation of
// the note, with the hints of each selector.
func TestContextOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", fedBy))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		noting(t, h, ann, id, "browser.page.context.v1", `{"url":"old","html":"<p>"}`)
		noting(t, h, ann, id, "browser.page.context.v1", ` {"url": "http://a/?b=1&c=<2>", "html":"<p>"}`)
		for _, data := range []string{`1`, `null`, `[ "<&>" ]`, `{"a":{"b":true}}`} {
			noting(t, h, ann, id, "log.v1", data)
		}
		seq := noting(t, h, ann, id, "tool.request.v1", `{"tool":"calc","input":{"n":3}}`)
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		latest := seq + 2 // woken, begun
		r := fed(t, h, x.p, parley.GetContextParams{ConversationID: o.ConversationID, ClaimID: o.ClaimID, AgentID: "calc"})
		brings(t, r, `{"trigger":{"conversation_id":"`+id+`","seq":`+fmt.Sprint(seq)+`,"type":"system","from":"ann","at":"T","schema_name":"tool.request.v1","data":{"input":{"n":3}}},`+
			`"browser_page_context":{"url":"http://a/?b=1&c=<2>"},"asked":"calc: 3 <ok>","log":[null,["<&>"],{"a":{"b":true}}],"none":null,"never":[]}`)
		sourcesAre(t, r, "browser_page_context latest 3", fmt.Sprintf("asked event_data %d", seq), "log recent 5 6 7",
			"none latest", "never recent")
		if !slices.Equal(r.Triggers, []int64{seq}) || r.LatestSeq != latest {
			t.Errorf("triggers %v, latest %d, want %d", r.Triggers, r.LatestSeq, latest)
		}
		for _, q := range []parley.GetContextParams{{ConversationID: o.ConversationID},
			{ConversationID: o.ConversationID, AgentID: "calc"}, {ConversationID: o.ConversationID, ClaimID: o.ClaimID}} {
			if got := fed(t, h, x.p, q); string(got.Context) != string(r.Context) {
				t.Errorf("asked by %+v: %s", q, got.Context)
			}
		}
		if got := fed(t, h, h.LocalPrincipal("root", parley.ScopeAdmin),
			parley.GetContextParams{ConversationID: o.ConversationID}); string(got.Context) != string(r.Context) {
			t.Errorf("asked by an admin: %s", got.Context)
		}
	})
}

// TestContextOfATurn: the turn gets the triggers before its claim, in order, and none after it. The
// other selectors read the current log.
func TestContextOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		b := thinker("bot")
		b.Subscriptions = json.RawMessage(`[{"schema_name":"user.message.v1"},{"schema_name":"page.v1","role":"context","key":"page"},{"schema_name":"user.message.v1","role":"context","fetch":"recent","key":"said"}]`)
		x := speaker(t, h, "ops", 4, []string{"bot"}, nil)
		synctest.Wait()
		x.says(b)
		bot := push(t, h, "w", "bot")
		ann, bob := h.LocalPrincipal("ann"), h.LocalPrincipal("bob")
		q := hall()
		q.Participants = append(q.Participants, parley.Participant{ID: "bob", Kind: parley.KindHuman},
			parley.Participant{ID: "bot", Kind: parley.KindAgent})
		q.Policy = &parley.Policy{Kind: parley.PolicyTriggers}
		id := create(t, h, ann, q)
		words := func(text, more string) *parley.SendMessageParams {
			m := message(id, "", parley.FinalityTurn, "")
			m.Payload = json.RawMessage(`{"text":"` + text + `","schema":"user.message.v1"` + more + `}`)
			return m
		}
		brings(t, fed(t, h, bot.p, parley.GetContextParams{ConversationID: id}), `{"trigger":null,"page":null,"said":[]}`)
		noting(t, h, ann, id, "page.v1", `{"p":1}`)
		first := say(t, h, ann, words("one", "")).Seq
		o := bot.oneOffer()
		claim := bot.take(id, o.ClaimID)
		noting(t, h, bob, id, "page.v1", `{"p":2}`)
		r := fed(t, h, bot.p, parley.GetContextParams{ConversationID: id, ClaimID: claim.ClaimID})
		one := `{"conversation_id":"` + id + `","seq":` + fmt.Sprint(first) + `,"type":"message","from":"ann","at":"T","schema_name":"user.message.v1","text":"one"}`
		brings(t, r, `{"trigger":`+one+`,"page":{"p":2},"said":[{"text":"one"}]}`)
		if !slices.Equal(r.Triggers, []int64{first}) {
			t.Errorf("triggers %v", r.Triggers)
		}
		_, err := h.GetContext(t.Context(), bot.p, &parley.GetContextParams{ConversationID: id, ClaimID: "clm_9_other"})
		refused(t, err, parley.ErrClaimLost)
		_, err = h.GetContext(t.Context(), bot.p, &parley.GetContextParams{ConversationID: id, ClaimID: "other"})
		refused(t, err, parley.ErrValidationFailed)
		_, err = h.GetContext(t.Context(), ann, &parley.GetContextParams{ConversationID: id, ClaimID: claim.ClaimID, AgentID: "ann"})
		refused(t, err, parley.ErrForbidden)
	})
}

// TestContextOfNobody: an agent without subscriptions has an empty context.
func TestContextOfNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		for _, p := range []*hub.Principal{ann, h.LocalPrincipal("calc")} {
			r := fed(t, h, p, parley.GetContextParams{ConversationID: id})
			if r.Context != nil || len(r.Sources) != 0 || r.Sources == nil || r.Triggers == nil || r.LatestSeq != 1 {
				t.Errorf("%s has %+v", p.AgentID, r)
			}
		}
	})
}
