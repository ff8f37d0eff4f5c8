package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// selection is the result of read_conversation.
type selection struct {
	Events    []readEvent
	SinceSeq  int64 `json:"since_seq"`
	More      bool
	Next      string
	Withdrawn []struct {
		FromSeq int64 `json:"from_seq"`
		ToSeq   int64 `json:"to_seq"`
	}
}

type readEvent struct {
	Seq            int64
	Type           string
	From           string
	Text           string
	Schema         string
	Tags           []string
	Withdrawn      bool
	Data           json.RawMessage
	DataText       string `json:"data_text"`
	NextOffset     int    `json:"next_text_offset"`
	CutDataChars   int    `json:"cut_data_chars"`
	NextDataOffset int    `json:"next_data_offset"`
	Attachments    []struct{ SHA256, Name string }
	Rest           []string
}

// texts joins the texts of all events.
func (r *selection) texts() string {
	var words []string
	for _, e := range r.Events {
		words = append(words, e.Text)
	}
	return strings.Join(words, "|")
}

// postMessage posts a message.
func postMessage(t *testing.T, c parley.Client, id string, m parley.Message, f parley.Finality) *parley.SendResult {
	t.Helper()
	r, err := c.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: raw(t, m), Finality: f})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failTurn lets an agent post messages and a trace in a turn, and fail.
func failTurn(t *testing.T, c parley.Client, id string, words ...string) (first int64) {
	t.Helper()
	claim := ""
	for _, text := range words {
		r := postMessage(t, c, id, parley.Message{Text: text}, parley.FinalityNone)
		if claim == "" {
			claim, first = r.ClaimID, r.Seq
		}
	}
	trace := &parley.SendTraceParams{ConversationID: id, Payload: raw(t, parley.Trace{Kind: "thought",
		Text: "a dead thought"}), ClaimID: claim}
	if _, err := c.SendTrace(t.Context(), trace); err != nil {
		t.Fatal(err)
	}
	if err := c.ReleaseClaim(t.Context(), &parley.ReleaseClaimParams{ConversationID: id, ClaimID: claim,
		Outcome: parley.ReleaseFailed}); err != nil {
		t.Fatal(err)
	}
	return first
}

// Messages of a failed attempt are neither read nor in the resource. A caller that has read some of
// them is asked to ignore them, and sees them marked with include_traces.
func TestWithdrawnMessagesAreSkipped(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	dead := failTurn(t, bob, id, "dead one", strings.Repeat("dead ", 3000))
	postAs(t, h.Client(t, "bob"), id, "alive", parley.FinalityTurn)

	var r selection
	text := alice.must("read_conversation", map[string]any{"conversation_id": id}, &r)
	if r.texts() != "alive" || strings.Contains(text, "dead") || len(r.Withdrawn) != 1 || r.Withdrawn[0].FromSeq != dead ||
		!strings.Contains(text, fmt.Sprintf("Ignore #%d", dead)) {
		t.Errorf("%s: %+v", text, r.Withdrawn)
	}
	r = selection{}
	if text = alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": dead, "limit": 1,
		"text_offset": 100}, &r); r.texts() != "alive" {
		t.Errorf("the rest of a withdrawn message: %s", text)
	}
	var page selection
	newWire(t, serverOf(t, h, "alice"), modern, map[string]any{}).readResource(conversations+id+"/events", &page)
	if page.texts() != "alive" {
		t.Errorf("the resource: %s", page.texts())
	}
	r = selection{}
	text = newIDE(t, h, "bob", nil).must("read_conversation", map[string]any{"conversation_id": id,
		"include_traces": true}, &r)
	marked := 0
	for _, e := range r.Events {
		if says := strings.Contains(e.Text, "dead"); says != e.Withdrawn {
			t.Errorf("withdrawn %v: #%d %.40s", e.Withdrawn, e.Seq, e.Text)
		}
		if e.Withdrawn {
			marked++
		}
	}
	if hint := fmt.Sprintf("since_seq: %d, limit: 1, include_traces: true, text_offset: ", dead); marked != 3 ||
		!strings.Contains(text, "withdrawn") || !strings.Contains(text, hint) {
		t.Errorf("%d events are marked, without %q: %s", marked, hint, text)
	}
}

// Messages are left out also if the attempt failed after the page that has them.
func TestWithdrawnAfterPage(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	words := make([]string, 230)
	for i := range words {
		words[i] = "dead"
	}
	failTurn(t, bob, id, words...)
	postAs(t, h.Client(t, "bob"), id, "alive", parley.FinalityTurn)
	var heard []string
	for since, more := int64(0), true; more; {
		var r selection
		alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": since}, &r)
		for _, e := range r.Events {
			heard = append(heard, e.Text)
		}
		if r.More && r.SinceSeq <= since {
			t.Fatal("the cursor does not advance")
		}
		since, more = r.SinceSeq, r.More
	}
	if got := strings.Join(heard, "|"); got != "alive" {
		t.Errorf("read %.100s", got)
	}
}

// Data and attachments count towards the limit, and the rest of data is read in pieces.
func TestDataIsBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	data := raw(t, map[string]string{"é": strings.Repeat("ü", 50_000)})
	text := strings.Repeat("word ", 10_000)
	var files []parley.Attachment
	for n := range parley.MaxMessageAttachments {
		put, err := bob.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: id, Data: []byte{byte(n)}})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parley.Attachment{SHA256: put.SHA256, Name: strings.Repeat("n", limits.MaxNameBytes)})
	}
	large := postMessage(t, bob, id, parley.Message{Text: text, Data: data, Attachments: files}, parley.FinalityNone).Seq
	for range 9 {
		postMessage(t, bob, id, parley.Message{Text: "small", Data: raw(t, strings.Repeat("d", 7000))}, parley.FinalityNone)
	}
	for since, more := int64(0), true; more; {
		var r selection
		got := alice.call("read_conversation", map[string]any{"conversation_id": id, "since_seq": since})
		for what, size := range map[string]int{"text": utf8.RuneCountInString(schemaText(got)),
			"structured": utf8.RuneCount(raw(t, got.StructuredContent))} {
			if size > mcp.MaxChars+4000 {
				t.Errorf("after #%d: %d characters of %s", since, size, what)
			}
		}
		if err := json.Unmarshal(raw(t, got.StructuredContent), &r); err != nil {
			t.Fatal(err)
		}
		since, more = r.SinceSeq, r.More
	}
	pieces := func(argument string, of func(*readEvent) (string, int)) string {
		var b strings.Builder
		var r selection
		shown := alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": large - 1, "limit": 1},
			&r)
		for len(r.Events) == 1 {
			piece, next := of(&r.Events[0])
			b.WriteString(piece)
			if next == 0 {
				break
			}
			if call := fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d, limit: 1, %s: %d}", id, large-1,
				argument, next); !strings.Contains(shown, call) {
				t.Errorf("the text does not have %s", call)
			}
			r = selection{}
			shown = alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": large - 1, "limit": 1,
				argument: next}, &r)
		}
		return b.String()
	}
	if got := pieces("data_offset", func(e *readEvent) (string, int) {
		return e.DataText,
			e.NextDataOffset
	}); got != string(data) {
		t.Errorf("the pieces differ from the data: %d bytes of %d", len(got), len(data))
	}
	if got := pieces("text_offset", func(e *readEvent) (string, int) { return e.Text, e.NextOffset }); got != text {
		t.Errorf("the pieces differ from the text: %d bytes of %d", len(got), len(text))
	}
	alice.refused("read_conversation", map[string]any{"conversation_id": id, "text_offset": 1, "data_offset": 1},
		"validation_failed", "one of them")
}

// A note is read among the messages, with its type. Events of the hub are not read.
func TestNotesAreRead(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	note := parley.Note{Schema: "chart.v1", Tags: []string{"mri"}, Data: raw(t, map[string]any{"pages": 3})}
	if _, err := bob.SendNote(t.Context(), &parley.SendNoteParams{ConversationID: id, Payload: note}); err != nil {
		t.Fatal(err)
	}
	postAs(t, bob, id, "see the chart", parley.FinalityTurn)
	var r, page selection
	text := alice.must("read_conversation", map[string]any{"conversation_id": id}, &r)
	newWire(t, serverOf(t, h, "alice"), modern, map[string]any{}).readResource(conversations+id+"/events", &page)
	for what, r := range map[string]selection{"read": r, "resource": page} {
		if len(r.Events) != 2 || r.Events[0].Type != "note" || r.Events[0].From != "bob" ||
			r.Events[0].Schema != "chart.v1" || len(r.Events[0].Tags) != 1 || string(r.Events[0].Data) != `{"pages":3}` {
			t.Errorf("%s: %+v", what, r.Events)
		}
	}
	for _, want := range []string{"bob (note)", "chart.v1", "mri", `{"pages":3}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q: %s", want, text)
		}
	}
	large := parley.Note{Schema: "chart.v1", Data: raw(t, strings.Repeat("x", 50_000))}
	put, err := bob.SendNote(t.Context(), &parley.SendNoteParams{ConversationID: id, Payload: large})
	if err != nil {
		t.Fatal(err)
	}
	r = selection{}
	text = alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": put.Seq - 1}, &r)
	if len(r.Events) != 1 || r.Events[0].CutDataChars == 0 || utf8.RuneCountInString(text) > mcp.MaxChars+4000 {
		t.Errorf("a large note: %d characters, %d events", len(text), len(r.Events))
	}
}

// The call for the next page has the arguments of the previous one.
func TestNextPageKeepsArguments(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	for range 6 {
		postAs(t, bob, id, "word", parley.FinalityNone)
	}
	var r selection
	text := alice.must("read_conversation", map[string]any{"conversation_id": id, "limit": 2, "include_traces": true}, &r)
	want := fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d, limit: 2, include_traces: true}", id,
		r.SinceSeq)
	if !r.More || r.Next != want || !strings.Contains(text, want) {
		t.Errorf("next %q, expected %q", r.Next, want)
	}
	long := strings.Repeat("think ", 10_000)
	trace, err := bob.SendTrace(t.Context(), &parley.SendTraceParams{ConversationID: id,
		Payload: raw(t, parley.Trace{Kind: "thought", Text: long})})
	if err != nil {
		t.Fatal(err)
	}
	himself := newIDE(t, h, "bob", nil)
	r = selection{}
	text = himself.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": trace.Seq - 1,
		"include_traces": true}, &r)
	want = fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d, limit: 1, include_traces: true, "+
		"text_offset: %d}", id, trace.Seq-1, r.Events[0].NextOffset)
	if !strings.Contains(text, want) {
		t.Errorf("a cut trace does not have the call %s", want)
	}
	from := r.Events[0].NextOffset
	himself.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": trace.Seq - 1, "limit": 1,
		"include_traces": true, "text_offset": from}, &r)
	if len(r.Events) != 1 || r.Events[0].Seq != trace.Seq || !strings.Contains(long, r.Events[0].Text[:1000]) {
		t.Errorf("the rest of a trace: %d events", len(r.Events))
	}
	h.Create(t, "bob", "alice")
	var list struct {
		Next   string
		Cursor string `json:"next_cursor"`
	}
	text = alice.must("list_conversations", map[string]any{"status": "active", "limit": 1}, &list)
	want = fmt.Sprintf("list_conversations {status: %q, limit: 1, cursor: %q}", "active", list.Cursor)
	if list.Cursor == "" || !strings.Contains(list.Next, want) || !strings.Contains(text, want) {
		t.Errorf("next %q, expected %q", list.Next, want)
	}
}

// The same if the attempt was longer than what the hub examines for one page.
func TestWithdrawnLongAfterPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("20,000 messages")
	}
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "alice")
	words := make([]string, 20_100)
	for i := range words {
		words[i] = "dead"
	}
	failTurn(t, h.InProcess(t, "bob"), id, words...)
	var r selection
	newIDE(t, h, "alice", nil).must("read_conversation", map[string]any{"conversation_id": id}, &r)
	if len(r.Events) > 0 || !r.More {
		t.Errorf("%d events, the first %.100s", len(r.Events), r.texts())
	}
}
