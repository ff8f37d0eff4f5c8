package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

const tasksExtension = "io.modelcontextprotocol/tasks"

// Capabilities that clients declare.
var (
	knowsTasks = map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}
	knowsForms = map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}},
		"elicitation": map[string]any{}}
)

// task is the result of tasks/get and of a call.
type task struct {
	ResultType, TaskID, Status, StatusMessage, CreatedAt, LastUpdatedAt string

	TTLMs          json.RawMessage
	PollIntervalMs int
	InputRequests  map[string]struct {
		Method string
		Params struct {
			Mode, Message   string
			RequestedSchema map[string]any
		}
	}
	Result *struct {
		Content           []struct{ Text string }
		StructuredContent struct {
			SessionID string `json:"session_id"`
			Status    string
		}
		IsError bool
	}
	// Content is set in the result of a tool.
	Content []struct{ Text string }
}

// office is a hub with an agent, whose messages the test sends, and a caller.
type office struct {
	t     *testing.T
	h     *sdktest.Hub
	agent parley.Client
	s     *mcp.Server
}

func newOffice(t *testing.T) *office {
	t.Helper()
	h := sdktest.NewHub(t)
	o := &office{t: t, h: h, agent: h.Client(t, "clerk"), s: serverOf(t, h, "alice")}
	o.register()
	return o
}

func (o *office) register() {
	o.h.RegisterAgent(o.t, parley.AgentInfo{Name: "clerk", Type: parley.AgentTypeAgent})
}

// ends closes a session as its agent does.
func (o *office) ends(id string, status parley.OutcomeStatus, words string) {
	o.t.Helper()
	payload := raw(o.t, parley.Message{Text: words})
	_, err := o.agent.SendMessage(o.t.Context(), &parley.SendMessageParams{
		ConversationID: id, Payload: payload, Finality: parley.FinalityConversation, Outcome: &parley.Outcome{Status: status},
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

// start starts the agent and returns the task in the result.
func (o *office) start(w *wire) task {
	o.t.Helper()
	var got task
	w.must("tools/call", map[string]any{"name": "start_agent_session", "arguments": map[string]any{"agent_name": "clerk",
		"prompt": "book a table"}}, &got)
	if got.ResultType != "task" || got.Status != "working" || got.TaskID == "" || string(got.TTLMs) != "null" ||
		got.PollIntervalMs <= 0 || got.Content != nil || got.Result != nil {
		o.t.Fatalf("%+v", got)
	}
	for _, at := range []string{got.CreatedAt, got.LastUpdatedAt} {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			o.t.Errorf("%v", err)
		}
	}
	return got
}

func (w *wire) task(id string) task {
	w.t.Helper()
	var got task
	w.must("tasks/get", map[string]any{"taskId": id}, &got)
	if got.ResultType != "complete" || got.TaskID != id {
		w.t.Errorf("%+v", got)
	}
	return got
}

// For a client that declares tasks, a session is a task from its start to each kind of end, also
// across a restart of the hub.
func TestTasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	w := newWire(t, o.s, modern, knowsTasks)
	for _, c := range []struct {
		status parley.OutcomeStatus
		want   string
	}{{parley.OutcomeCompleted, "completed"}, {parley.OutcomeFailed, "failed"}} {
		id := o.start(w).TaskID
		if got := w.task(id); got.Status != "working" || got.Result != nil {
			t.Errorf("%+v", got)
		}
		o.h.Restart(t)
		o.register()
		if got := w.task(id); got.Status != "working" {
			t.Errorf("after a restart: %+v", got)
		}
		o.ends(id, c.status, "that is all")
		got := w.task(id)
		if got.Status != "completed" || got.Result == nil || got.Result.StructuredContent.Status != c.want ||
			got.Result.StructuredContent.SessionID != id || !strings.Contains(got.Result.Content[0].Text, c.want) {
			t.Errorf("%s: %+v", c.want, got)
		}
		var plain task
		newWire(t, o.s, modern, map[string]any{}).must("tools/call", map[string]any{"name": "get_agent_session",
			"arguments": map[string]any{"session_id": id}}, &plain)
		if plain.Content[0].Text != got.Result.Content[0].Text {
			t.Errorf("the result of the task differs from that of the session: %s\n%s", got.Result.Content[0].Text,
				plain.Content[0].Text)
		}
	}
	id := o.start(w).TaskID
	for range 2 {
		w.must("tasks/cancel", map[string]any{"taskId": id}, nil)
		if got := w.task(id); got.Status != "cancelled" || got.Result != nil {
			t.Errorf("%+v", got)
		}
	}
}

// A client that does not declare tasks learns nothing of them, receives none, and may not request
// any. A call that asks for a session at once receives a session.
func TestTasksMustBeDeclared(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	asks := newWire(t, o.s, modern, knowsTasks)
	id := o.start(asks).TaskID
	call := map[string]any{"name": "start_agent_session", "arguments": map[string]any{"agent_name": "clerk",
		"prompt": "book a table", "wait_seconds": 0}}
	type told struct {
		Capabilities struct{ Extensions map[string]any }
	}
	for _, w := range []*wire{newWire(t, o.s, modern, map[string]any{}), newWire(t, o.s, legacy, knowsTasks)} {
		var got task
		w.must("tools/call", call, &got)
		if got.TaskID != "" || got.ResultType == "task" || len(got.Content) == 0 {
			t.Errorf("%s: %+v", w.era, got)
		}
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			_, e := w.call(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
			if e == nil || e.Code != -32021 || !strings.Contains(string(e.Data),
				`"requiredCapabilities":{"extensions":{"`+tasksExtension+`":{}}}`) {
				t.Errorf("%s: %s: %+v", w.era, method, e)
			}
		}
		var r told
		if w.era >= modern {
			w.must("server/discover", map[string]any{}, &r)
		}
		if r.Capabilities.Extensions[tasksExtension] != nil || w.offered.Capabilities["extensions"] != nil {
			t.Errorf("%s: tasks are declared", w.era)
		}
	}
	var r told
	asks.must("server/discover", map[string]any{}, &r)
	if r.Capabilities.Extensions[tasksExtension] == nil {
		t.Error("tasks are not declared to a client that declares them")
	}
	call["arguments"].(map[string]any)["mode"] = "async_poll"
	var got task
	asks.must("tools/call", call, &got)
	if got.TaskID != "" || len(got.Content) == 0 {
		t.Errorf("async_poll: %+v", got)
	}
	call["arguments"] = map[string]any{"agent_name": "nobody"}
	asks.must("tools/call", call, &got)
	if got.TaskID != "" || !strings.Contains(got.Content[len(got.Content)-1].Text, "not_found") {
		t.Errorf("a start that is refused: %+v", got)
	}
}

// A task of another caller does not exist, and neither does a conversation that is not a session.
func TestMissingTask(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	id := o.start(newWire(t, o.s, modern, knowsTasks)).TaskID
	carol := newWire(t, serverOf(t, o.h, "carol"), modern, knowsTasks)
	for _, id := range []string{id, "ses_none", o.h.Create(t, "carol"), ""} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if _, e := carol.call(method, map[string]any{"taskId": id, "inputResponses": map[string]any{}}); e == nil ||
				e.Code != -32602 {
				t.Errorf("%s %q: %+v", method, id, e)
			}
		}
	}
	if _, e := carol.call("tasks/get", map[string]any{}); e == nil || e.Code != -32602 {
		t.Errorf("no id: %+v", e)
	}
}

// A question of an agent is sent to the user, and each answer is posted once, for its question.
func TestTaskQuestion(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	w := newWire(t, o.s, modern, knowsForms)
	id := o.start(w).TaskID
	question := func(words string) string {
		t.Helper()
		postAs(t, o.agent, id, words, parley.FinalityTurn)
		got := w.task(id)
		if got.Status != "input_required" || len(got.InputRequests) != 1 {
			t.Fatalf("%+v", got)
		}
		for key, q := range got.InputRequests {
			if q.Method != "elicitation/create" || q.Params.Mode != "form" || q.Params.Message != words ||
				q.Params.RequestedSchema["type"] != "object" {
				t.Errorf("%+v", q)
			}
			if again := w.task(id); len(again.InputRequests) != 1 || again.InputRequests[key].Method == "" {
				t.Errorf("the same question has another key: %+v", again)
			}
			return key
		}
		return ""
	}
	answer := func(key string, r any) {
		t.Helper()
		var got task
		w.must("tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{key: r}}, &got)
		if got.ResultType != "complete" {
			t.Errorf("%+v", got)
		}
	}
	accept := func(words string) any {
		return map[string]any{"action": "accept", "content": map[string]any{"answer": words}}
	}
	first := question("for how many?")
	answer("turn-99", accept("a stranger's"))
	answer(first, map[string]any{"action": "cancel"})
	if got := w.task(id); got.Status != "input_required" {
		t.Errorf("after an ignored answer: %+v", got)
	}
	if _, e := w.call("tasks/update", map[string]any{"taskId": id,
		"inputResponses": map[string]any{first: map[string]any{"action": "accept"}}}); e == nil || e.Code != -32602 {
		t.Errorf("answer without text: %+v", e)
	}
	answer(first, accept("for four"))
	answer(first, accept("for four"))
	if got := w.task(id); got.Status != "working" {
		t.Errorf("after the answer: %+v", got)
	}
	second := question("and when?")
	if second == first {
		t.Errorf("two questions have the key %s", first)
	}
	answer(first, accept("for five"))
	if got := newWire(t, o.s, modern, knowsTasks).task(id); got.Status != "working" || !strings.Contains(got.StatusMessage,
		"post_message") {
		t.Errorf("client without forms: %+v", got)
	}
	answer(second, map[string]any{"action": "decline"})
	o.ends(id, parley.OutcomeCompleted, "booked")
	answer(second, accept("too late"))
	if got := w.task(id); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
	var said []string
	for e, err := range o.agent.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m, err := e.Message(); err == nil && e.Type == parley.TypeMessage && e.From == "alice" {
			said = append(said, m.Text)
		}
	}
	if got := strings.Join(said, "|"); !strings.HasSuffix(got, "|for four|I do not want to answer this.") ||
		strings.Count(got, "|") != 2 {
		t.Errorf("messages of alice %s", got)
	}
}
