package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// scripted are methods that record requests and answer as a test says. The default answers are
// valid.
type scripted struct {
	// answer, if set, returns the results of methods with one response.
	answer func(ctx context.Context, req any) (any, error)
	// updates, if set, yields the events of streams.
	updates func(ctx context.Context, yield func(update, error) bool)

	mu     sync.Mutex // guards the fields below
	asked  any
	cursor string
	caller caller
}

// scriptedTask returns the default task of the methods.
func scriptedTask() *a2a.Task {
	return &a2a.Task{ID: "cnv_1.7", ContextID: "cnv_1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted},
		History: []*a2a.Message{{ID: "m1", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("hello")}}}}
}

func scriptedStatus(state a2a.TaskState) *a2a.TaskStatusUpdateEvent {
	return &a2a.TaskStatusUpdateEvent{TaskID: "cnv_1.7", ContextID: "cnv_1", Status: a2a.TaskStatus{State: state}}
}

func (m *scripted) note(c *caller, req any, cursor string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.caller, m.cursor = req, *c, cursor
}

// take returns and clears the last request.
func (m *scripted) take() (req any, c caller, cursor string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req, c, cursor = m.asked, m.caller, m.cursor
	m.asked = nil
	return req, c, cursor
}

func scriptedAnswer[T any](ctx context.Context, m *scripted, c *caller, req any, usual T) (T, error) {
	m.note(c, req, "")
	if m.answer == nil {
		return usual, nil
	}
	v, err := m.answer(ctx, req)
	if err != nil || v == nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

func (m *scripted) send(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return scriptedAnswer[a2a.SendMessageResult](ctx, m, c, req, scriptedTask())
}

func (m *scripted) run(ctx context.Context, c *caller, req any, cursor string) iter.Seq2[update, error] {
	m.note(c, req, cursor)
	return func(yield func(update, error) bool) {
		if m.updates != nil {
			m.updates(ctx, yield)
			return
		}
		task := scriptedTask()
		task.Status.State = a2a.TaskStateWorking
		_ = yield(update{"7", task}, nil) && yield(update{"8", scriptedStatus(a2a.TaskStateCompleted)}, nil)
	}
}

func (m *scripted) stream(ctx context.Context, c *caller, req *a2a.SendMessageRequest) iter.Seq2[update, error] {
	return m.run(ctx, c, req, "")
}

func (m *scripted) subscribe(ctx context.Context, c *caller, req *a2a.SubscribeToTaskRequest,
	cursor string) iter.Seq2[update, error] {
	return m.run(ctx, c, req, cursor)
}

func (m *scripted) get(ctx context.Context, c *caller, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return scriptedAnswer(ctx, m, c, req, scriptedTask())
}

func (m *scripted) list(ctx context.Context, c *caller, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return scriptedAnswer(ctx, m, c, req, &a2a.ListTasksResponse{PageSize: 50})
}

func (m *scripted) cancel(ctx context.Context, c *caller, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	task := scriptedTask()
	task.Status.State = a2a.TaskStateCanceled
	return scriptedAnswer(ctx, m, c, req, task)
}

func (m *scripted) createPush(ctx context.Context, c *caller, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	return scriptedAnswer(ctx, m, c, req, req)
}

func (m *scripted) getPush(ctx context.Context, c *caller, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return scriptedAnswer(ctx, m, c, req, &a2a.PushConfig{TaskID: req.TaskID, ID: req.ID, URL: "https://example.com/hook"})
}

func (m *scripted) listPush(ctx context.Context, c *caller,
	req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return scriptedAnswer(ctx, m, c, req, &a2a.ListTaskPushConfigResponse{})
}

func (m *scripted) deletePush(ctx context.Context, c *caller, req *a2a.DeleteTaskPushConfigRequest) error {
	_, err := scriptedAnswer(ctx, m, c, req, any(nil))
	return err
}

// frontWorld is an httpServer on a socket with scripted methods.
type frontWorld struct {
	t       *testing.T
	server  *Server
	methods *scripted
	front   *httpServer
	url     string // of the agent echo
	base    string
	log     *lockedBuffer
}

// lockedBuffer collects the log.
type lockedBuffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// noClient is a client without methods.
type noClient struct{ parley.Client }

func frontOptions(o *Options) *Options {
	o.Connect = func(*http.Request) (parley.Client, func(), error) { return noClient{}, nil, nil }
	o.Agents = []Agent{{Name: "echo", Description: "It says what it hears.", Speaks: "echo"},
		{Name: "other", Speaks: "other"}}
	o.Version = "test"
	return o
}

// newFrontWorld serves until the test ends.
func newFrontWorld(t *testing.T, change func(*Options)) *frontWorld {
	t.Helper()
	log := &lockedBuffer{}
	o := frontOptions(&Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if change != nil {
		change(o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := &scripted{}
	f := s.front(m)
	h := httptest.NewServer(f)
	t.Cleanup(h.Close)
	return &frontWorld{t: t, server: s, methods: m, front: f, url: h.URL + "/a2a/echo", base: h.URL, log: log}
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
}

// json returns the value at a path of names and list indexes with dots between, or nil.
func (r *reply) json(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("no JSON: %v in %q", err, r.body)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// code returns the JSON-RPC error code, or 0.
func (r *reply) code(t *testing.T) int {
	t.Helper()
	n, _ := r.json(t, "error.code").(float64)
	return int(n)
}

// do makes a request. headers are pairs.
func (w *frontWorld) do(method, url, body string, headers ...string) *reply {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return &reply{res.StatusCode, res.Header, string(raw)}
}

// rpc makes a JSON-RPC call.
func (w *frontWorld) rpc(method, params string, headers ...string) *reply {
	w.t.Helper()
	return w.do(http.MethodPost, w.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
		headers...)
}

// The header with the version.
const versionHeader = a2a.SvcParamVersion

// A message of each version.
const (
	message10 = `{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}`
	message03 = `{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}`
)

func newTestLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
