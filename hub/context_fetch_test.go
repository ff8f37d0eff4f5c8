package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// feeder creates a conversation of an agent with context selectors beside a trigger. It returns a
// caller that may have the context, and the conversation.
func feeder(t testing.TB, h *hub.Hub, selectors string) (*hub.Principal, string) {
	t.Helper()
	x := speaker(t, h, "ops", 4, []string{"calc"}, nil)
	t.Cleanup(x.conn.Close)
	x.says(listens("calc", `[{"schema_name":"go.v1"},`+selectors+`]`))
	return x.p, create(t, h, h.LocalPrincipal("ann"), hall("calc"))
}

// manyNotes posts notes, each with a schema and data, and returns their seqs.
func manyNotes(t testing.TB, h *hub.Hub, id string, n int, note func(i int) (schema, data string)) []int64 {
	t.Helper()
	ann := h.LocalPrincipal("ann")
	type answer struct {
		seq int64
		err error
	}
	answers := make(chan answer, n)
	var seqs []int64
	asked := 0
	wait := func() {
		for ; asked > 0; asked-- {
			a := <-answers
			if a.err != nil {
				t.Fatal(a.err)
			}
			seqs = append(seqs, a.seq)
		}
	}
	for i := range n {
		schema, data := note(i)
		h.SendNote(ann, &parley.SendNoteParams{ConversationID: id,
			Payload: parley.Note{Schema: schema, Data: json.RawMessage(data)}},
			func(r parley.SeqResult, err error) { answers <- answer{r.Seq, err} })
		if asked++; asked == 200 {
			wait()
		}
	}
	wait()
	slices.Sort(seqs)
	return seqs
}

// TestContextFindsTheLastOnes holds what is found, over pages of all sizes and what memory has, against the log read through.
func TestContextFindsTheLastOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: one caller writes 30 MB and reads them")
	}
	j := newJournal(t)
	h := startOn(t, j, nil)
	p, id := feeder(t, h, `{"schema_name":"odd.v1","role":"context","fetch":{"method":"recent","limit":100},"llm_hints":{"include":["i"]}},{"schema_name":"first.v1","role":"context"}`)
	var want []string
	manyNotes(t, h, id, 1, func(int) (string, string) { return "first.v1", `{"i":0}` })
	seqs := manyNotes(t, h, id, 400, func(i int) (string, string) {
		size := 10
		if i%50 < 5 {
			size = 700_000 // some pages are of more bytes than are kept at once
		}
		schema := "even.v1"
		if i%3 == 1 {
			schema = "odd.v1"
		}
		return schema, fmt.Sprintf(`{"i":%d,"long":"%s"}`, i, strings.Repeat("x", size))
	})
	for i, seq := range seqs {
		if i%3 == 1 {
			want = append(want, fmt.Sprint(seq))
		}
	}
	want = want[len(want)-100:]
	r := fed(t, h, p, parley.GetContextParams{ConversationID: id, AgentID: "calc"})
	sourcesAre(t, r, "odd recent "+strings.Join(want, " "), "first latest 2")
}

// TestContextLooksBackSoFar: events more than MaxFetchScan events ago are not found.
func TestContextLooksBackSoFar(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 20,000 events")
	}
	h := startOn(t, newJournal(t), nil)
	p, id := feeder(t, h, `{"schema_name":"far.v1","role":"context"},{"schema_name":"near.v1","role":"context"}`)
	manyNotes(t, h, id, limits.MaxFetchScan+1, func(i int) (string, string) {
		return []string{"far.v1", "near.v1", "other.v1"}[min(i, 2)], `1`
	})
	r := fed(t, h, p, parley.GetContextParams{ConversationID: id, AgentID: "calc"})
	sourcesAre(t, r, "far latest", "near latest 3")
}

// TestContextLooksAtAllOfASelector: a fetch applies all conditions of a selector, like a trigger,
// with each method.
func TestContextLooksAtAllOfASelector(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	const asked = `{"role":"context","schema_name":"a.v1","any_tags":["v","w"],"all_tags":["x","y"],"context_match":[{"path":"$.n","op":"gt","value":2},{"path":"$.k","op":"exists","value":false}]`
	p, id := feeder(t, h, asked+`,"fetch":"recent","key":"recent"},`+asked+`,"key":"latest"},`+asked+`,"fetch":"vector","key":"vector"}`)
	ann := h.LocalPrincipal("ann")
	tagged := func(schema, tags, data string) int64 {
		r, err := one(func(done func(parley.SeqResult, error)) {
			h.SendNote(ann, &parley.SendNoteParams{ConversationID: id,
				Payload: parley.Note{Schema: schema, Tags: strings.Fields(tags), Data: json.RawMessage(data)}}, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Seq
	}
	match := tagged("a.v1", "y w x", `{"n":3}`)
	for _, other := range [][3]string{
		{"b.v1", "w x y", `{"n":3}`}, {"a.v1", "x y", `{"n":3}`}, {"a.v1", "w x", `{"n":3}`}, {"a.v1", "w y", `{"n":3}`}, {"a.v1", "w x y", `{"n":2}`}, {"a.v1", "w x y", `{"n":"3"}`},
		{"a.v1", "w x y", `{"n":3,"k":1}`}, {"a.v1", "w x y", `{}`},
	} {
		tagged(other[0], other[1], other[2])
	}
	say(t, h, ann, message(id, "n is 3", parley.FinalityTurn, "")) // what the others are to be like
	r := fed(t, h, p, parley.GetContextParams{ConversationID: id, AgentID: "calc"})
	sourcesAre(t, r, fmt.Sprintf("recent recent %d", match), fmt.Sprintf("latest latest %d", match),
		fmt.Sprintf("vector vector %d", match))
}

// TestContextHasClosingWords: the message with which a participant has closed another conversation of the workspace is found; what the hub says as one ends is not.
func TestContextHasClosingWords(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	x := speaker(t, h, "ops", 4, []string{"calc"}, []string{"green"})
	t.Cleanup(x.conn.Close)
	x.says(listens("calc", `[{"schema_name":"go.v1"},{"role":"context","scope":"workspace","fetch":"recent","key":"ends"}]`))
	ann := h.LocalPrincipal("ann")
	here, left, closed := room(t, h, "green", parley.KindTool, "calc"), room(t, h, "green", parley.KindPeer), room(t, h,
		"green", parley.KindPeer)
	last := message(left, "", parley.FinalityConversation, "")
	last.Payload = json.RawMessage(`{"text":"bye","schema":"end.v1","data":"over"}`)
	said := say(t, h, ann, last)
	if _, err := one(func(done func(parley.SeqResult, error)) {
		h.CloseConversation(ann, &parley.CloseConversationParams{ConversationID: closed}, done)
	}); err != nil {
		t.Fatal(err)
	}
	r := fed(t, h, x.p, parley.GetContextParams{ConversationID: here, AgentID: "calc"})
	brings(t, r, `{"trigger":null,"ends":["over"]}`)
	sourcesAre(t, r, fmt.Sprintf("ends recent %s%d", left, said.Seq))
}
