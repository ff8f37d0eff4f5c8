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

// reading is what read_conversation answers.
type reading struct {
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

// texts are the words of all events.
func (r *reading) texts() string {
	var words []string
	for _, e := range r.Events {
		words = append(words, e.Text)
	}
	return strings.Join(words, "|")
}

// sends says a whole message.
func sends(t *testing.T, c parley.Client, id string, m parley.Message, f parley.Finality) *parley.SendResult {
	t.Helper()
	r, err := c.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: raw(t, m), Finality: f})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// failing has an agent say words in a turn, with a trace, and fail.
func failing(t *testing.T, c parley.Client, id string, words ...string) (first int64) {
	t.Helper()
	claim := ""
	for _, text := range words {
		r := sends(t, c, id, parley.Message{Text: text}, parley.FinalityNone)
		if claim == "" {
			claim, first = r.ClaimID, r.Seq
		}
	}
	trace := &parley.SendTraceParams{ConversationID: id, Payload: raw(t, parley.Trace{Kind: "thought", Text: "a dead thought"}), ClaimID: claim}
	if _, err := c.SendTrace(t.Context(), trace); err != nil {
		t.Fatal(err)
	}
	if err := c.ReleaseClaim(t.Context(), &parley.ReleaseClaimParams{ConversationID: id, ClaimID: claim, Outcome: parley.ReleaseFailed}); err != nil {
		t.Fatal(err)
	}
	return first
}

// TestWithdrawnWords: what a failed attempt has said is neither read nor in the resource, whoever has read some of it is told to forget it, and who asks for traces
// sees it marked.
func TestWithdrawnWords(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	dead := failing(t, bob, id, "dead one", strings.Repeat("dead ", 3000))
	says(t, h.Client(t, "bob"), id, "alive", parley.FinalityTurn)

	var r reading
	text := alice.must("read_conversation", map[string]any{"conversation_id": id}, &r)
	if r.texts() != "alive" || strings.Contains(text, "dead") || len(r.Withdrawn) != 1 || r.Withdrawn[0].FromSeq != dead || !strings.Contains(text, fmt.Sprintf("Forget #%d", dead)) {
		t.Errorf("%s: %+v", text, r.Withdrawn)
	}
	r = reading{}
	if text = alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": dead, "limit": 1, "text_offset": 100}, &r); r.texts() != "alive" {
		t.Errorf("the rest of what was withdrawn: %s", text)
	}
	var page reading
	newWire(t, serverOf(t, h, "alice"), modern, map[string]any{}).readResource(conversations+id+"/events", &page)
	if page.texts() != "alive" {
		t.Errorf("the resource: %s", page.texts())
	}
	r = reading{}
	text = newIDE(t, h, "bob", nil).must("read_conversation", map[string]any{"conversation_id": id, "include_traces": true}, &r)
	marked := 0
	for _, e := range r.Events {
		if says := strings.Contains(e.Text, "dead"); says != e.Withdrawn {
			t.Errorf("withdrawn %v: #%d %.40s", e.Withdrawn, e.Seq, e.Text)
		}
		if e.Withdrawn {
			marked++
		}
	}
	if hint := fmt.Sprintf("since_seq: %d, limit: 1, include_traces: true, text_offset: ", dead); marked != 3 || !strings.Contains(text, "withdrawn") || !strings.Contains(text, hint) {
		t.Errorf("%d events are marked, without %q: %s", marked, hint, text)
	}
}

// TestWithdrawnBehindThePage: words are left out also where the attempt failed behind the page that has them.
func TestWithdrawnBehindThePage(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	words := make([]string, 230)
	for i := range words {
		words[i] = "dead"
	}
	failing(t, bob, id, words...)
	says(t, h.Client(t, "bob"), id, "alive", parley.FinalityTurn)
	var heard []string
	for since, more := int64(0), true; more; {
		var r reading
		alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": since}, &r)
		for _, e := range r.Events {
			heard = append(heard, e.Text)
		}
		if r.More && r.SinceSeq <= since {
			t.Fatal("it does not go on")
		}
		since, more = r.SinceSeq, r.More
	}
	if got := strings.Join(heard, "|"); got != "alive" {
		t.Errorf("heard %.100s", got)
	}
}

// TestDataIsBounded: data and attachments count, and what was left out of data is read piece by piece.
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
	large := sends(t, bob, id, parley.Message{Text: text, Data: data, Attachments: files}, parley.FinalityNone).Seq
	for range 9 {
		sends(t, bob, id, parley.Message{Text: "small", Data: raw(t, strings.Repeat("d", 7000))}, parley.FinalityNone)
	}
	for since, more := int64(0), true; more; {
		var r reading
		got := alice.call("read_conversation", map[string]any{"conversation_id": id, "since_seq": since})
		for what, size := range map[string]int{"text": utf8.RuneCountInString(textOf(got)), "structured": utf8.RuneCount(raw(t, got.StructuredContent))} {
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
		var r reading
		shown := alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": large - 1, "limit": 1}, &r)
		for len(r.Events) == 1 {
			piece, next := of(&r.Events[0])
			b.WriteString(piece)
			if next == 0 {
				break
			}
			if call := fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d, limit: 1, %s: %d}", id, large-1, argument, next); !strings.Contains(shown, call) {
				t.Errorf("the text does not have %s", call)
			}
			r = reading{}
			shown = alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": large - 1, "limit": 1, argument: next}, &r)
		}
		return b.String()
	}
	if got := pieces("data_offset", func(e *readEvent) (string, int) { return e.DataText, e.NextDataOffset }); got != string(data) {
		t.Errorf("the pieces of data are not the data: %d bytes of %d", len(got), len(data))
	}
	if got := pieces("text_offset", func(e *readEvent) (string, int) { return e.Text, e.NextOffset }); got != text {
		t.Errorf("the pieces of the text are not the text: %d bytes of %d", len(got), len(text))
	}
	alice.refused("read_conversation", map[string]any{"conversation_id": id, "text_offset": 1, "data_offset": 1}, "validation_failed", "one of them")
}

// TestNotesAreRead: a note is read among the messages, as what it is; the hub's own events are not.
func TestNotesAreRead(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	note := parley.Note{Schema: "chart.v1", Tags: []string{"mri"}, Data: raw(t, map[string]any{"pages": 3})}
	if _, err := bob.SendNote(t.Context(), &parley.SendNoteParams{ConversationID: id, Payload: note}); err != nil {
		t.Fatal(err)
	}
	says(t, bob, id, "see the chart", parley.FinalityTurn)
	var r, page reading
	text := alice.must("read_conversation", map[string]any{"conversation_id": id}, &r)
	newWire(t, serverOf(t, h, "alice"), modern, map[string]any{}).readResource(conversations+id+"/events", &page)
	for what, r := range map[string]reading{"read": r, "resource": page} {
		if len(r.Events) != 2 || r.Events[0].Type != "note" || r.Events[0].From != "bob" || r.Events[0].Schema != "chart.v1" || len(r.Events[0].Tags) != 1 || string(r.Events[0].Data) != `{"pages":3}` {
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
	r = reading{}
	text = alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": put.Seq - 1}, &r)
	if len(r.Events) != 1 || r.Events[0].CutDataChars == 0 || utf8.RuneCountInString(text) > mcp.MaxChars+4000 {
		t.Errorf("a large note: %d characters, %d events", len(text), len(r.Events))
	}
}

// TestReadGoesOnAlike: the call that reads on has the arguments of the one before.
func TestReadGoesOnAlike(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	for range 6 {
		says(t, bob, id, "word", parley.FinalityNone)
	}
	var r reading
	text := alice.must("read_conversation", map[string]any{"conversation_id": id, "limit": 2, "include_traces": true}, &r)
	want := fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d, limit: 2, include_traces: true}", id, r.SinceSeq)
	if !r.More || r.Next != want || !strings.Contains(text, want) {
		t.Errorf("next %q, expected %q", r.Next, want)
	}
	long := strings.Repeat("think ", 10_000)
	trace, err := bob.SendTrace(t.Context(), &parley.SendTraceParams{ConversationID: id, Payload: raw(t, parley.Trace{Kind: "thought", Text: long})})
	if err != nil {
		t.Fatal(err)
	}
	himself := newIDE(t, h, "bob", nil)
	r = reading{}
	text = himself.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": trace.Seq - 1, "include_traces": true}, &r)
	want = fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d, limit: 1, include_traces: true, text_offset: %d}", id, trace.Seq-1, r.Events[0].NextOffset)
	if !strings.Contains(text, want) {
		t.Errorf("a cut trace does not say %s", want)
	}
	from := r.Events[0].NextOffset
	himself.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": trace.Seq - 1, "limit": 1, "include_traces": true, "text_offset": from}, &r)
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

// TestWithdrawnFarBehindThePage: that holds also where the attempt was longer than what the hub examines for one page.
func TestWithdrawnFarBehindThePage(t *testing.T) {
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
	failing(t, h.InProcess(t, "bob"), id, words...)
	var r reading
	newIDE(t, h, "alice", nil).must("read_conversation", map[string]any{"conversation_id": id}, &r)
	if len(r.Events) > 0 || !r.More {
		t.Errorf("%d events, the first %.100s", len(r.Events), r.texts())
	}
}
