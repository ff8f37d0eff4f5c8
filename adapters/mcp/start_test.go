package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
)

// tableSchema is the parameters schema of the strict agent of these tests.
const tableSchema = `{"type":"object","properties":{"guests":{"type":"integer","minimum":1}},"required":["guests"],` +
	`"additionalProperties":false}`

// A refused start lists each fault and the schema, and starts nothing.
func TestStartRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.h.RegisterAgent(t, parley.AgentInfo{Name: "strict", Type: parley.AgentTypeAgent,
		ParametersSchema: json.RawMessage(tableSchema)})
	alice := newIDE(t, o.h, "alice", nil)
	foreign := o.h.Create(t, "bob")
	for _, c := range []struct {
		args  map[string]any
		words []string
	}{
		{map[string]any{"agent_name": "strict", "parameters": map[string]any{"guests": "four", "when": "now"}},
			[]string{"parameter_validation_failed", "guests", "when", `"parameters_schema":` + tableSchema,
				"Next: the same call", "Nothing was started"}},
		{map[string]any{"agent_name": "strict", "parameters": map[string]any{"guests": 0}},
			[]string{"parameter_validation_failed", "guests", "minimum"}},
		{map[string]any{"agent_name": "strict", "prompt": "a table"}, []string{"parameter_validation_failed",
			`"parameters_schema":` + tableSchema}},
		{map[string]any{"agent_name": "clerk", "prompt": "a table", "parameters": map[string]any{"prompt": "another"}},
			[]string{"validation_failed", "prompt", "parameters"}},
		{map[string]any{"agent_name": "clerk", "prompt": "a table", "mode": "async_callback"}, []string{"validation_failed",
			"parent_conversation_id"}},
		{map[string]any{"agent_name": "clerk", "prompt": "a table", "mode": "async_callback",
			"parent_conversation_id": foreign}, []string{"not_found", "list_conversations"}},
		{map[string]any{"agent_name": "clerk", "prompt": "a table", "mode": "later"}, []string{"mode", "later",
			"async_poll"}},
		{map[string]any{"agent_name": "nobody", "prompt": "a table"}, []string{"not_found", "nobody",
			"list_agent_blueprints"}},
	} {
		alice.refused("start_agent_session", c.args, c.words...)
	}
	var l struct{ Conversations []any }
	if alice.must("list_conversations", nil, &l); len(l.Conversations) != 0 {
		t.Errorf("%d sessions were started", len(l.Conversations))
	}
}

// A start returns the result, or an id if that takes too long, or an id at once, or posts the
// result in a conversation. Parameters and a prompt reach the agent.
func TestStartModes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	alice := newIDE(t, o.h, "alice", nil)
	parent := o.h.Create(t, "alice", "bob")
	began := alice.starts(t.Context(), map[string]any{"agent_name": "clerk", "prompt": "book a table"})
	o.ends(o.firstSession(), parley.OutcomeCompleted, "a table for four")
	var v sessionView
	text := (<-began).decode(t, &v)
	if v.Status != "completed" || v.ResultText != "a table for four" || !strings.Contains(text, "a table for four") {
		t.Errorf("sync: %s", text)
	}
	if got := o.parametersOf(v.SessionID); got != `{"prompt":"book a table"}` {
		t.Errorf("the agent was asked for %s", got)
	}
	late := alice.call("start_agent_session", map[string]any{"agent_name": "clerk",
		"parameters": map[string]any{"prompt": "a room"}, "wait_seconds": 0.01})
	if err := json.Unmarshal(raw(t, late.StructuredContent), &v); err != nil {
		t.Fatal(err)
	}
	if next := fmt.Sprintf("get_agent_session {session_id: %q", v.SessionID); late.IsError || v.Status != "pending" &&
		v.Status != "running" || !strings.Contains(v.Next, next) || !strings.Contains(schemaText(late), next) {
		t.Errorf("sync that takes longer: %s", schemaText(late))
	}
	if got := o.parametersOf(v.SessionID); got != `{"prompt":"a room"}` {
		t.Errorf("the agent was asked for %s", got)
	}
	o.ends(v.SessionID, parley.OutcomeFailed, "no room")
	alice.must("get_agent_session", map[string]any{"session_id": v.SessionID, "wait_seconds": 10}, &v)
	if v.Status != "failed" {
		t.Errorf("looked at later: %+v", v)
	}
	id := o.startFor(alice, map[string]any{"mode": "async_callback", "parent_conversation_id": parent})
	o.ends(id, parley.OutcomeCompleted, "booked")
	text = alice.must("wait_for_updates", map[string]any{"conversation_id": parent, "until": "message"}, nil)
	if !strings.Contains(text, id) || !strings.Contains(text, "booked") {
		t.Errorf("the callback: %s", text)
	}
	if text = alice.must("get_agent_session", map[string]any{"session_id": id}, nil); !strings.Contains(text,
		"Its callback is delivered") {
		t.Errorf("after the callback: %s", text)
	}
}

// startResult is the result of a call.
type startResult struct {
	result *protocol.CallToolResult
	err    error
}

// starts calls start_agent_session with a progress token, and does not wait.
func (i *ide) starts(ctx context.Context, args map[string]any) <-chan startResult {
	c := make(chan startResult, 1)
	go func() {
		p := &protocol.CallToolParams{Name: "start_agent_session", Arguments: args}
		p.SetProgressToken("t1")
		r, err := i.session.CallTool(ctx, p)
		c <- startResult{r, err}
	}()
	return c
}

// decode decodes a result that is not an error.
func (b startResult) decode(t *testing.T, into any) (text string) {
	t.Helper()
	if b.err != nil || b.result.IsError {
		t.Fatalf("%v, %+v", b.err, b.result)
	}
	if into == nil {
		return schemaText(b.result)
	}
	if err := json.Unmarshal(raw(t, b.result.StructuredContent), into); err != nil {
		t.Fatal(err)
	}
	return schemaText(b.result)
}

// parametersOf returns the parameters of a session.
func (o *office) parametersOf(id string) string {
	o.t.Helper()
	page, err := o.agent.Tail(o.t.Context(), &parley.TailParams{ConversationID: id, Limit: parley.MaxPage})
	if err != nil {
		o.t.Fatal(err)
	}
	for i := range page.Events {
		if m, err := page.Events[i].Message(); err == nil && m.Parameters != nil {
			return string(m.Parameters)
		}
	}
	return ""
}

// reportProgress lets the agent report progress.
func (o *office) reportProgress(id, kind, words string) {
	o.t.Helper()
	if _, err := o.agent.SendTrace(o.t.Context(), &parley.SendTraceParams{ConversationID: id,
		Payload: raw(o.t, parley.Trace{Kind: kind, Text: words})}); err != nil {
		o.t.Fatal(err)
	}
}

// A caller that waits for a session and asks for progress receives the progress traces of the agent
// once and in order, and no other traces.
func TestProgressOfSessions(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			o := newOffice(t)
			told := make(chan *protocol.ProgressNotificationParams, 100)
			alice := serveAs(t, o.s, "test-ide", era,
				&protocol.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
					r *protocol.ProgressNotificationClientRequest) {
					told <- r.Params
				}})
			began := alice.starts(t.Context(), map[string]any{"agent_name": "clerk", "prompt": "book a table"})
			id := o.firstSession()
			last := 0.0
			hears := func(words string) {
				t.Helper()
				for {
					select {
					case p := <-told:
						if p.ProgressToken != "t1" || p.Progress <= last {
							t.Errorf("%+v after %v", p, last)
						}
						if last = p.Progress; p.Message == words {
							return
						}
						if !strings.HasPrefix(p.Message, "clerk is ") { // the status, not a trace
							t.Errorf("progress %q, expected %q", p.Message, words)
						}
					case <-time.After(patience):
						t.Fatalf("no progress %q", words)
					}
				}
			}
			o.reportProgress(id, "thought", "which table?")
			o.reportProgress(id, "progress", "looked at the tables")
			hears("looked at the tables")
			o.reportProgress(id, "progress", "wrote to the waiter")
			hears("wrote to the waiter")
			o.ends(id, parley.OutcomeCompleted, "booked")
			if text := (<-began).decode(t, nil); !strings.Contains(text, "booked") {
				t.Errorf("the result: %s", text)
			}
		})
	}
}

// firstSession waits for a session and returns its id.
func (o *office) firstSession() string {
	o.t.Helper()
	for {
		r, err := o.agent.ListConversations(o.t.Context(), &parley.ListConversationsParams{})
		if err != nil {
			o.t.Fatal(err)
		}
		if len(r.Conversations) > 0 {
			return r.Conversations[0].ConversationID
		}
		time.Sleep(time.Millisecond)
	}
}

// A client that cancels a start ends the waiting, not the work: the session continues, and its
// result can be read.
func TestCanceledStartContinues(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			o := newOffice(t)
			told := make(chan struct{}, 100)
			l := &clientLender{client: o.h.Client(t, "alice")}
			alice := serveAs(t, mcp.NewServer(&mcp.Options{Connect: l.connect}), "test-ide", era, &protocol.ClientOptions{
				ProgressNotificationHandler: func(context.Context,
					*protocol.ProgressNotificationClientRequest) {
					told <- struct{}{}
				},
			})
			ctx, cancel := context.WithCancel(t.Context())
			began := alice.starts(ctx, map[string]any{"agent_name": "clerk", "prompt": "book a table"})
			id := o.firstSession()
			o.reportProgress(id, "progress", "looked at the tables")
			<-told // the call waits
			cancel()
			if got := <-began; got.err == nil {
				t.Errorf("a canceled call is answered: %s", schemaText(got.result))
			}
			l.waitInUse(t, 0) // the adapter has noticed
			var v sessionView
			if alice.must("get_agent_session", map[string]any{"session_id": id}, &v); v.Status != "pending" &&
				v.Status != "running" {
				t.Errorf("after the cancel: %+v", v)
			}
			o.ends(id, parley.OutcomeCompleted, "booked")
			if alice.must("get_agent_session", map[string]any{"session_id": id, "wait_seconds": 10},
				&v); v.Status != "completed" || v.ResultText != "booked" {
				t.Errorf("at the end: %+v", v)
			}
		})
	}
}
