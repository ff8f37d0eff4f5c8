package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
)

// wireRequirement is a requirement that is tested over the wire in both bindings, with a hub, an
// agent and a plain JSON client.
type wireRequirement struct {
	id    string
	level string
	what  string
	test  func(t *testing.T, w *wireWorld)
}

// wireWorld is an adapter on a socket for a hub with the agent bot of opsWorld, called by one
// binding. Callers send their names as tokens.
type wireWorld struct {
	*opsWorld
	t    *testing.T
	url  string // of bot
	rest bool
	push *hook // the notifications that its webhook received
}

// bindings are those of version 1.0, by their names on the card.
var bindings = map[string]bool{"JSONRPC": false, "HTTP+JSON": true}

func newWireWorld(t *testing.T, rest bool) *wireWorld {
	t.Helper()
	w := &wireWorld{opsWorld: newOpsWorld(t), t: t, rest: rest, push: newHook(t, nil)}
	clients := map[string]parley.Client{"alice": w.h.Client(t, "alice"), "bob": w.h.Client(t, "bob")}
	push, err := NewPush(t.Context(), &PushOptions{
		Store: w.h.Admin(t), Key: make([]byte, 32), AllowHTTP: true,
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		As: func(_ context.Context, who string) (parley.Client, func(), error) {
			return clients[who], func() {}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.s, err = New(&Options{
		Agents: []Agent{{Name: "bot", Speaks: "bot", InputModes: []string{"text/plain", mediaJSON}}}, Push: push,
		Bearer: true,
		Connect: func(r *http.Request) (parley.Client, func(), error) {
			_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if c := clients[token]; c != nil {
				return c, nil, nil
			}
			return nil, nil, parley.ErrUnauthenticated
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- push.Run(ctx) }()
	web := httptest.NewServer(w.s.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	w.url = web.URL + "/a2a/bot"
	return w
}

// object is a JSON object.
type object = map[string]any

// wireAnswer is the result of a call, in the same form for both bindings.
type wireAnswer struct {
	reply
	result any    // of a stream: of the first event
	events []any  // of a stream
	reason string // of an error: the reason in its ErrorInfo
}

// at returns a value of the result by a path of names, or nil.
func (a *wireAnswer) at(t *testing.T, path string) any {
	t.Helper()
	raw, err := json.Marshal(object{"v": a.result})
	if err != nil {
		t.Fatal(err)
	}
	return (&reply{body: string(raw)}).json(t, "v."+path)
}

// wireRoutes are the addresses of HTTP+JSON. {id} and {taskId} are parameters.
var wireRoutes = map[string]string{
	"SendMessage":                      "POST /message:send",
	"SendStreamingMessage":             "POST /message:stream",
	"GetTask":                          "GET /tasks/{id}",
	"ListTasks":                        "GET /tasks",
	"CancelTask":                       "POST /tasks/{id}:cancel",
	"SubscribeToTask":                  "POST /tasks/{id}:subscribe",
	"CreateTaskPushNotificationConfig": "POST /tasks/{taskId}/pushNotificationConfigs",
	"GetTaskPushNotificationConfig":    "GET /tasks/{taskId}/pushNotificationConfigs/{id}",
	"ListTaskPushNotificationConfigs":  "GET /tasks/{taskId}/pushNotificationConfigs",
	"DeleteTaskPushNotificationConfig": "DELETE /tasks/{taskId}/pushNotificationConfigs/{id}",
	"GetExtendedAgentCard":             "GET /extendedAgentCard",
}

// request returns a call of version 1.0.
func (w *wireWorld) request(method string, params object) (verb, at, body string) {
	w.t.Helper()
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(raw)
	}
	if !w.rest {
		return http.MethodPost, w.url, encode(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	}
	verb, path, _ := strings.Cut(wireRoutes[method], " ")
	query := url.Values{}
	for name, v := range params {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(v))
		} else {
			query.Set(name, fmt.Sprint(v))
		}
	}
	switch {
	case verb != http.MethodPost && len(query) > 0:
		path += "?" + query.Encode()
	case verb == http.MethodPost && !strings.HasPrefix(path, "/tasks/") || strings.HasPrefix(method, "Create"):
		body = encode(params)
	}
	return verb, w.url + path, body
}

// callAs makes a call as a caller. An empty name sends no token.
func (w *wireWorld) callAs(who, method string, params object, headers ...string) *wireAnswer {
	w.t.Helper()
	verb, at, body := w.request(method, params)
	headers = append([]string{versionHeader, "1.0", "Authorization", "Bearer " + who}, headers...)
	return w.answer((&frontWorld{t: w.t}).do(verb, at, body, headers...))
}

func (w *wireWorld) call(method string, params object, headers ...string) *wireAnswer {
	w.t.Helper()
	return w.callAs("alice", method, params, headers...)
}

// answer reads a response and checks its form.
func (w *wireWorld) answer(r *reply) *wireAnswer {
	w.t.Helper()
	a := &wireAnswer{reply: *r}
	if r.header.Get("Content-Type") != "text/event-stream" {
		a.read(w, r.body)
		return a
	}
	for line := range strings.SplitSeq(r.body, "\n") {
		if data, is := strings.CutPrefix(line, "data: "); is {
			a.read(w, data)
			a.events = append(a.events, a.result)
		}
	}
	if len(a.events) == 0 {
		w.t.Fatalf("a stream of nothing: %q", r.body)
	}
	a.result = a.events[0]
	return a
}

func (a *wireAnswer) read(w *wireWorld, body string) {
	w.t.Helper()
	r := &reply{body: body}
	details := "error.details.0."
	if w.rest {
		if body == "" {
			body = "{}"
		}
		if err := json.Unmarshal([]byte(body), &a.result); err != nil {
			w.t.Fatalf("HTTP %d %q: %v", a.status, body, err)
		}
		if a.status < http.StatusBadRequest {
			return
		}
	} else {
		details = "error.data.0."
		id := r.json(w.t, "id") // null if the request was refused before it was parsed
		if r.json(w.t, "jsonrpc") != "2.0" || id != 1.0 && (id != nil || r.json(w.t, "error") == nil) {
			w.t.Errorf("no answer of JSON-RPC: %s", body)
		}
		if a.result = r.json(w.t, "result"); r.json(w.t, "error") == nil {
			return
		}
	}
	a.result = nil
	reason, _ := r.json(w.t, details+"reason").(string)
	if a.reason = reason; reason == "" || r.json(w.t, "error.message") == "" || r.json(w.t, "error.code") == nil {
		w.t.Errorf("an error without a reason, a message or a code: %s", body)
	}
}

// refused checks for an error with this reason.
func (w *wireWorld) refused(a *wireAnswer, reason string) {
	w.t.Helper()
	if a.reason != reason {
		w.t.Errorf("HTTP %d %s: not refused as %s", a.status, a.body, reason)
	}
}

// says returns the parameters of a message.
func (w *wireWorld) says(id, text string, more ...any) object {
	m := object{"messageId": id, "role": "ROLE_USER", "parts": []object{{"text": text}}}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return object{"message": m}
}

// task sends a message and returns the task.
func (w *wireWorld) task(id, text string, more ...any) object {
	w.t.Helper()
	a := w.call("SendMessage", w.says(id, text, more...))
	task, is := a.at(w.t, "task").(object)
	if !is {
		w.t.Fatalf("HTTP %d %s: no task", a.status, a.body)
	}
	return task
}

// state returns the state of a task.
func state(task object) string {
	status, _ := task["status"].(object)
	s, _ := status["state"].(string)
	return s
}

// TestWireRequirements checks the adapter against the specification over the wire, in each binding.
func TestWireRequirements(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	seen := map[string]bool{}
	for _, r := range wireRequirements {
		if seen[r.id] {
			t.Errorf("%s is there twice", r.id)
		}
		seen[r.id] = true
		for name, rest := range bindings {
			t.Run(r.id+"/"+name, func(t *testing.T) { r.test(t, newWireWorld(t, rest)) })
		}
	}
}

// until waits for a condition.
func (w *wireWorld) until(what string, f func() bool) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !f(); {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("waited too long: %s", what)
		}
	}
}
