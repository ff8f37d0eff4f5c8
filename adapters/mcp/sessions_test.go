package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// sessionView is a session in the results of the tools.
type sessionView struct {
	SessionID      string `json:"session_id"`
	Status         string
	ResultText     string          `json:"result_text"`
	NextOffset     int             `json:"next_text_offset"`
	ResultData     json.RawMessage `json:"result_data"`
	ResultDataText string          `json:"result_data_text"`
	NextDataOffset int             `json:"next_data_offset"`
	Attachment     struct{ SHA256 string }
	Errors         []parley.ValidationError `json:"validation_errors"`
	CutErrors      int                      `json:"cut_validation_errors"`
	Duplicate      bool
	Rest           []string
	Next           string
}

// endSessionWith ends a session with a message.
func (o *office) endSessionWith(id string, m parley.Message) {
	o.t.Helper()
	_, err := o.agent.SendMessage(o.t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: raw(o.t, m),
		Finality: parley.FinalityConversation})
	if err != nil {
		o.t.Fatal(err)
	}
}

// startFor starts the agent for an IDE, and returns the id of the session.
func (o *office) startFor(i *ide, args map[string]any) string {
	o.t.Helper()
	args["agent_name"], args["prompt"] = "clerk", "book a table"
	if args["mode"] == nil {
		args["mode"] = "async_poll"
	}
	var v sessionView
	i.must("start_agent_session", args, &v)
	return v.SessionID
}

// A result that is too large for one answer is bounded in both forms, and is read in pieces with
// the calls that each piece names.
func TestLongResultIsReadInPieces(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	alice := newIDE(t, o.h, "alice", nil)
	text, data := strings.Repeat("wörd ", 12_000), raw(t, map[string]string{"table": strings.Repeat("ü", 50_000)})
	id := o.startFor(alice, map[string]any{})
	o.endSessionWith(id, parley.Message{Text: text, Data: data})
	read := func(argument string, of func(*sessionView) (string, int)) string {
		var b strings.Builder
		for args := map[string]any{"session_id": id}; ; {
			var v sessionView
			r := alice.call("get_agent_session", args)
			if err := json.Unmarshal(raw(t, r.StructuredContent), &v); err != nil {
				t.Fatal(err)
			}
			if shown, structured := utf8.RuneCountInString(schemaText(r)), utf8.RuneCount(raw(t,
				r.StructuredContent)); shown > mcp.MaxChars+2000 || structured > mcp.MaxChars+2000 {
				t.Errorf("%d characters of text, %d structured", shown, structured)
			}
			piece, next := of(&v)
			b.WriteString(piece)
			if next == 0 {
				return b.String()
			}
			if call := fmt.Sprintf("get_agent_session {session_id: %q, %s: %d}", id, argument,
				next); !strings.Contains(schemaText(r), call) || !strings.Contains(strings.Join(v.Rest, ";"), call) {
				t.Fatalf("neither form has %s", call)
			}
			args[argument] = next
		}
	}
	if got := read("text_offset", func(v *sessionView) (string, int) { return v.ResultText, v.NextOffset }); got != text {
		t.Errorf("the pieces differ from the text: %d bytes of %d", len(got), len(text))
	}
	if got := read("data_offset", func(v *sessionView) (string, int) {
		return v.ResultDataText,
			v.NextDataOffset
	}); got != string(data) {
		t.Errorf("the pieces differ from the data: %d bytes of %d", len(got), len(data))
	}
	alice.refused("get_agent_session", map[string]any{"session_id": id, "text_offset": 1, "data_offset": 1},
		"validation_failed", "one of them")
}

// A result in an attachment is read with the named call, by the caller that started the session and
// from the callback to its parent. The same holds for the validation errors of a result.
func TestResultInAttachment(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	alice := newIDE(t, o.h, "alice", nil)
	parent := o.h.Create(t, "alice", "bob")
	id := o.startFor(alice, map[string]any{"mode": "async_callback", "parent_conversation_id": parent})
	put, err := o.agent.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: id,
		Data: []byte("the whole of it")})
	if err != nil {
		t.Fatal(err)
	}
	beginning := "the whole"
	var faults []parley.ValidationError
	for n := range 40 {
		faults = append(faults, parley.ValidationError{Path: fmt.Sprintf("$.row[%d]", n), Message: strings.Repeat("m", 400),
			SchemaPath: "items.type"})
	}
	o.endSessionWith(id, parley.Message{Result: &parley.SessionResult{
		ResultType: parley.AgentTypeAgent, ResultText: &beginning, Attachment: &parley.Attachment{SHA256: put.SHA256},
		ValidationErrors: faults,
	}})
	call := fmt.Sprintf("read_attachment {conversation_id: %q, sha256: %q}", id, put.SHA256)
	var v sessionView
	text := alice.must("get_agent_session", map[string]any{"session_id": id}, &v)
	if v.Attachment.SHA256 != put.SHA256 || !strings.Contains(strings.Join(v.Rest, ";"), call) || !strings.Contains(text,
		call) {
		t.Errorf("%s\n%+v", text, v)
	}
	if len(v.Errors) == 0 || len(v.Errors)+v.CutErrors != len(faults) || !strings.Contains(text, "$.row[0]") ||
		!strings.Contains(text, fmt.Sprintf("read_conversation {conversation_id: %q", id)) {
		t.Errorf("%d faults, %d left out: %s", len(v.Errors), v.CutErrors, text)
	}
	var whole selection
	for _, call := range v.Rest {
		var since int64
		if _, err := fmt.Sscanf(call, "read_conversation {conversation_id: "+fmt.Sprintf("%q", id)+", since_seq: %d}",
			&since); err == nil {
			alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": since}, &whole)
		}
	}
	if !strings.Contains(whole.texts(), "$.row[39]") {
		t.Errorf("the rest of the faults: %.300s", whole.texts())
	}
	if got, _, _ := alice.readFile(id, put.SHA256); string(got) != "the whole of it" {
		t.Errorf("the attachment is %q", got)
	}
	var u updates
	text = alice.must("wait_for_updates", map[string]any{"conversation_id": parent, "until": "message"}, &u)
	if !strings.Contains(text, call) {
		t.Errorf("the callback does not have %s: %s", call, text)
	}
}

// If parameters have many faults, some are listed, with the way to see the others.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	properties, wrong := map[string]any{}, map[string]any{}
	for n := range 300 {
		name := fmt.Sprintf("a_rather_long_name_of_a_property_%d", n)
		properties[name], wrong[name] = map[string]any{"type": "integer"}, strings.Repeat("w", 400)
	}
	h.RegisterAgent(t, parley.AgentInfo{Name: "strict", Type: parley.AgentTypeAgent, ParametersSchema: raw(t,
		map[string]any{"type": "object", "properties": properties})})
	text := alice.refused("start_agent_session", map[string]any{"agent_name": "strict", "parameters": wrong},
		"parameter_validation_failed", "more errors are left out: correct these",
		`list_agent_blueprints {agent_name: "strict"}`, "Next: the same call")
	if len(text) > 8000 {
		t.Errorf("%d bytes", len(text))
	}
}

// The call that polls again waits as long as the previous one.
func TestNextPollKeepsWait(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	alice := newIDE(t, o.h, "alice", nil)
	id := o.startFor(alice, map[string]any{})
	for waited, want := range map[float64]string{0: "wait_seconds: 20}", 0.01: "wait_seconds: 0.01}"} {
		var v sessionView
		text := alice.must("get_agent_session", map[string]any{"session_id": id, "wait_seconds": waited}, &v)
		if !strings.Contains(v.Next, want) || !strings.Contains(text, want) {
			t.Errorf("after %v s: next %q", waited, v.Next)
		}
	}
}
