package a2a

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

func TestStreamShapes(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, c := range []struct {
		name string
		r    *reply
		want string
	}{
		{"1.0", w.rpc("SendStreamingMessage", `{"message":`+message10+`}`),
			`id: 7|data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"cnv_1.7",` + `…` + `"state":"TASK_STATE_WORKING"` +
				`…` + `id: 8|data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{`},
		{"0.3", w.rpc("message/stream", `{"message":`+message03+`}`),
			`id: 7|data: {"jsonrpc":"2.0","id":1,"result":{` + `…` + `"kind":"task"` + `…` +
				`id: 8|data: {"jsonrpc":"2.0","id":1,"result":{` + `…` + `"final":true`},
		{"1.0, HTTP+JSON", w.do("POST", w.url+"/message:stream", `{"message":`+message10+`}`), `id: 7|data: {"task":{` + `…` +
			`id: 8|data: {"statusUpdate":{`},
		{"0.3, HTTP+JSON", w.do("POST", w.url+"/v1/message:stream", `{"message":`+messageProto+`}`), `id: 7|data: {"task":{` +
			`…` + `id: 8|data: {"statusUpdate":{` + `…` + `"final":true`},
	} {
		if c.r.header.Get("Content-Type") != "text/event-stream" || c.r.status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s: %s", c.name, c.r.status, c.r.header.Get("Content-Type"), c.r.body)
		}
		rest := strings.ReplaceAll(c.r.body, "\n", "|")
		for piece := range strings.SplitSeq(c.want, "…") {
			_, after, is := strings.Cut(rest, piece)
			if !is {
				t.Errorf("%s: no %s in %s", c.name, piece, c.r.body)
			}
			rest = after
		}
	}
}

// In 0.3, an update is final if the stream ends with it.
func TestFinal(t *testing.T) {
	w := newFrontWorld(t, nil)
	for state, final := range map[a2a.TaskState]string{a2a.TaskStateWorking: "false", a2a.TaskStateInputRequired: "true",
		a2a.TaskStateAuthRequired: "true", a2a.TaskStateFailed: "true"} {
		w.methods.updates = func(_ context.Context, yield func(update, error) bool) {
			yield(update{"7", scriptedStatus(state)}, nil)
		}
		if r := w.rpc("tasks/resubscribe", `{"id":"t"}`); !strings.Contains(r.body, `"final":`+final) {
			t.Errorf("%s: %s", state, r.body)
		}
	}
}

// Last-Event-ID reaches subscribe only.
func TestStreamCursor(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, c := range []struct {
		r    func() *reply
		want string
	}{
		{func() *reply { return w.rpc("SubscribeToTask", `{"id":"t"}`, "Last-Event-ID", "12.1") }, "12.1"},
		{func() *reply { return w.rpc("tasks/resubscribe", `{"id":"t"}`, "Last-Event-ID", "12") }, "12"},
		{func() *reply { return w.do("GET", w.url+"/tasks/t:subscribe", "", "Last-Event-ID", "12") }, "12"},
		{func() *reply { return w.do("POST", w.url+"/v1/tasks/t:subscribe", "", "Last-Event-ID", "12") }, "12"},
		{func() *reply { return w.rpc("SubscribeToTask", `{"id":"t"}`) }, ""},
		{func() *reply {
			return w.rpc("SendStreamingMessage", `{"message":`+message10+`}`, "Last-Event-ID", "12")
		}, ""},
	} {
		r := c.r()
		if _, _, got := w.methods.take(); got != c.want {
			t.Errorf("the cursor is %q and not %q: %s", got, c.want, r.body)
		}
	}
}

// An error before the first update is a JSON response. A later one is an event that ends the
// stream.
func TestStreamRefused(t *testing.T) {
	w := newFrontWorld(t, nil)
	w.methods.updates = func(_ context.Context, yield func(update, error) bool) {
		yield(update{}, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended"))
	}
	for method, v := range map[string]string{"SubscribeToTask": "1.0", "tasks/resubscribe": "0.3"} {
		if r := w.rpc(method, `{"id":"t"}`, versionHeader, v); r.header.Get("Content-Type") != "application/json" ||
			r.code(t) != -32004 {
			t.Errorf("%s: %s %s", method, r.header.Get("Content-Type"), r.body)
		}
	}
	if r := w.do("GET", w.url+"/tasks/t:subscribe", ""); r.header.Get("Content-Type") != "application/json" ||
		r.status != 400 {
		t.Errorf("HTTP+JSON: HTTP %d %s %s", r.status, r.header.Get("Content-Type"), r.body)
	}
	w.methods.updates = func(_ context.Context, yield func(update, error) bool) {
		if yield(update{"7", scriptedTask()}, nil) {
			yield(update{}, parley.ErrUnavailable)
		}
	}
	for name, c := range map[string]struct{ body, has string }{
		"1.0": {w.rpc("SubscribeToTask", `{"id":"t"}`).body,
			`data: {"jsonrpc":"2.0","id":1,"error":{"code":-32000,`},
		"0.3": {w.rpc("tasks/resubscribe", `{"id":"t"}`).body,
			`data: {"jsonrpc":"2.0","id":1,"error":{"code":-32000,`},
		"1.0, HTTP+JSON": {w.do("GET", w.url+"/tasks/t:subscribe", "").body, `data: {"error":{"code":503,`},
	} {
		events := strings.Split(strings.TrimSpace(c.body), "\n\n")
		if len(events) != 2 || !strings.HasPrefix(events[0], "id: 7\n") || !strings.HasPrefix(events[1], c.has) {
			t.Errorf("%s: %s", name, c.body)
		}
	}
	w.methods.updates = func(context.Context, func(update, error) bool) {}
	if r := w.rpc("SubscribeToTask", `{"id":"t"}`); r.code(t) != -32603 {
		t.Errorf("a stream without events: %s", r.body)
	}
}

// Each update is flushed before the next one.
func TestStreamFlushes(t *testing.T) {
	w := newFrontWorld(t, nil)
	next := make(chan bool)
	w.methods.updates = func(_ context.Context, yield func(update, error) bool) {
		for _, id := range []string{"1", "2", "3"} {
			if !yield(update{id, scriptedTask()}, nil) {
				return
			}
			<-next
		}
	}
	res, err := http.Get(w.url + "/tasks/t:subscribe")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for _, id := range []string{"1", "2", "3"} {
		for line := ""; line != "id: "+id+"\n"; {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		next <- true
	}
}

// A disconnect of the client ends the stream.
func TestDisconnectEndsStream(t *testing.T) {
	w := newFrontWorld(t, nil)
	ended := make(chan bool)
	w.methods.updates = func(ctx context.Context, yield func(update, error) bool) {
		yield(update{"7", scriptedTask()}, nil)
		<-ctx.Done()
		close(ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/tasks/t:subscribe", nil)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	cancel()
	<-ended
}

// slowWriter is a client in memory that fails on demand.
type slowWriter struct {
	header http.Header
	mu     sync.Mutex // guards the fields below
	all    strings.Builder
	fails  bool
}

func (w *slowWriter) Header() http.Header { return w.header }
func (w *slowWriter) WriteHeader(int)     {}
func (w *slowWriter) Flush()              {}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails {
		return 0, errors.New("the peer is gone")
	}
	return w.all.Write(b)
}

func (w *slowWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// An idle stream sends a comment every 15 s, and ends when the write fails.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(frontOptions(&Options{}))
		if err != nil {
			t.Fatal(err)
		}
		next := make(chan bool)
		f := s.front(&scripted{updates: func(ctx context.Context, yield func(update, error) bool) {
			for yield(update{"7", scriptedTask()}, nil) {
				select {
				case <-next:
				case <-ctx.Done():
					return
				}
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &slowWriter{header: http.Header{}}
		done := make(chan bool)
		go func() {
			defer close(done)
			f.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/a2a/echo/tasks/t:subscribe", nil))
		}()
		comments := func() int { return strings.Count(w.String(), "\n:\n") }
		for _, c := range []struct {
			wait time.Duration
			tell bool
			want int
		}{{14 * time.Second, false, 0}, {2 * time.Second, false, 1}, {30 * time.Second, false, 3}, {0, true,
			3}, {14 * time.Second, false, 3}, {2 * time.Second, false, 4}} {
			time.Sleep(c.wait)
			if c.tell {
				next <- true
			}
			synctest.Wait()
			if comments() != c.want {
				t.Errorf("after %s there are %d signs of life and not %d", c.wait, comments(), c.want)
			}
		}
		w.mu.Lock()
		w.fails = true
		w.mu.Unlock()
		time.Sleep(keepAlive)
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the stream goes on, and nobody takes it")
		}
	})
}

// A panic in the methods ends the request, not the program.
func TestStreamPanics(t *testing.T) {
	w := newFrontWorld(t, nil)
	w.methods.updates = func(context.Context, func(update, error) bool) { panic("planted") }
	defer func() {
		if recover() != "planted" {
			t.Error("the panic was lost")
		}
	}()
	w.front.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/a2a/echo/tasks/t:subscribe", nil))
}
