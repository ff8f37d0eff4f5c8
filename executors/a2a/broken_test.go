package a2a_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/a2a"
)

// cutter passes on n events of a stream, and then nothing.
type cutter struct {
	http.ResponseWriter
	left int
	dead bool
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.dead {
		return 0, errors.New("cut")
	}
	n, err := c.ResponseWriter.Write(p)
	if c.left -= bytes.Count(p, []byte("\n\n")); c.left <= 0 {
		c.dead = true
	}
	return n, err
}

func (c *cutter) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// A stream that ends before its task, after any event, is continued. Nothing is sent twice, lost,
// or posted twice.
func TestCutStreams(t *testing.T) {
	for i, d := range dialects {
		for after := 1; after <= 5; after++ {
			for _, clean := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, after %d, cleanly %v", d.name, after, clean), func(t *testing.T) {
					r := newRemote(t, i, true)
					var cut atomic.Bool
					r.around = func(w http.ResponseWriter, q *http.Request, next http.Handler) {
						if q.Header.Get("Accept") != "text/event-stream" || cut.Swap(true) {
							next.ServeHTTP(w, q)
							return
						}
						next.ServeHTTP(&cutter{ResponseWriter: w, left: after}, q)
						if !clean {
							panic(http.ErrAbortHandler)
						}
					}
					w := newWorld(t, &a2a.Options{CardURL: r.URL})
					if got := w.answer(t, w.say(t, "hello")); got.Text != "the answer to hello" || got.A2A.State != "completed" {
						t.Errorf("%+v", got)
					}
					if n := len(r.messages()); n != 1 {
						t.Errorf("%d messages were sent", n)
					}
				})
			}
		}
	}
}

// The task of a turn that is canceled, or whose conversation is closed, is canceled at the peer.
func TestCanceledTurn(t *testing.T) {
	for _, end := range []string{"cancelTurn", "close"} {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streaming %v", end, streaming), func(t *testing.T) {
				r := newRemote(t, 0, streaming)
				w := newWorld(t, &a2a.Options{CardURL: r.URL})
				w.say(t, "never")
				until(t, "the task is begun", func() bool { return len(w.traces(t)) > 0 })
				admin := w.hub.Admin(t)
				var err error
				if end == "close" {
					_, err = admin.CloseConversation(t.Context(), &parley.CloseConversationParams{ConversationID: w.id})
				} else {
					_, err = admin.CancelTurn(t.Context(), &parley.CancelTurnParams{ConversationID: w.id, Turn: 2})
				}
				if err != nil {
					t.Fatal(err)
				}
				until(t, "the remote task is canceled", func() bool { return r.cancels() == 1 })
			})
		}
	}
}

// A task that takes too long is canceled, and the attempt fails.
func TestMaxWait(t *testing.T) {
	r := newRemote(t, 0, true)
	w := newWorld(t, &a2a.Options{CardURL: r.URL, MaxWait: 2 * time.Second})
	w.say(t, "never")
	until(t, "the remote task is canceled", func() bool { return r.cancels() > 0 })
	until(t, "it is said in the log", func() bool {
		for _, tr := range w.traces(t) {
			if tr.Kind == "error" && strings.Contains(tr.Text, a2a.ErrMaxWait.Error()) {
				return true
			}
		}
		return false
	})
}

// A stopping executor leaves the task open, and the next one continues it.
func TestRestart(t *testing.T) {
	for i, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			r := newRemote(t, i, true)
			o := &a2a.Options{CardURL: r.URL}
			w := newWorldHub(t)
			stop := w.run(t, newAgent(t, o), nil)
			seq := w.say(t, "slow")
			until(t, "the task is begun", func() bool { return len(w.traces(t)) > 1 })
			stop()
			w.run(t, newAgent(t, o), &executors.Options{Grace: a2a.AbandonWait, Drain: -1})
			r.release.Do(func() { close(r.gone) })
			if got := w.answer(t, seq); got.Text != "after a while" {
				t.Errorf("%+v", got)
			}
			if n, c := len(r.messages()), r.cancels(); n != 1 || c != 0 {
				t.Errorf("%d messages were sent, %d tasks canceled", n, c)
			}
		})
	}
}

// A task that waits for input is canceled when the conversation is closed, even if no executor ran
// at that time.
func TestClosedWhileItWaits(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running %v", running), func(t *testing.T) {
			r := newRemote(t, 0, true)
			o := &a2a.Options{CardURL: r.URL}
			w := newWorldHub(t)
			stop := w.run(t, newAgent(t, o), nil)
			w.answer(t, w.say(t, "ask"))
			if !running {
				stop()
			}
			if _, err := w.hub.Admin(t).CloseConversation(t.Context(),
				&parley.CloseConversationParams{ConversationID: w.id}); err != nil {
				t.Fatal(err)
			}
			if !running {
				w.run(t, newAgent(t, o), nil)
			}
			until(t, "the remote task is canceled", func() bool { return r.cancels() == 1 })
		})
	}
}

// stub is a peer with fixed answers.
type stub struct {
	*httptest.Server
	mu    sync.Mutex // guards the field below
	asked []string   // bodies
}

// newStub answers JSON-RPC requests with answer, which gets the id and the method. An answer that
// starts with "data:" is a stream.
func newStub(t *testing.T, card string, answer func(id, method string, body []byte) string) *stub {
	t.Helper()
	s := &stub{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.Path, "well-known") {
			_, _ = io.WriteString(w, strings.ReplaceAll(card, "URL", s.URL))
			return
		}
		body, _ := io.ReadAll(q.Body)
		var call struct{ ID, Method string }
		_ = json.Unmarshal(body, &call)
		s.mu.Lock()
		s.asked = append(s.asked, string(body))
		s.mu.Unlock()
		text := answer(call.ID, call.Method, body)
		kind := "application/json"
		if strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "id:") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stub) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

const stubCard = `{"name":"x","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"URL/rpc",` +
	`"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

// turn runs one turn of an agent without an executor.
func turn(t *testing.T, o *a2a.Options) (*world, error) {
	t.Helper()
	w := newWorldHub(t)
	w.say(t, "hello")
	bot := w.hub.Client(t, "bot")
	_, err := newAgent(t, o).HandleTurn(t.Context(), &parley.Turn{
		ConversationID: w.id, AgentID: "bot", Agent: "bot", Number: 2, Attempt: 1, Key: "k", Client: bot,
	})
	return w, err
}

// Each violation of the protocol has its error, quickly and at limited cost.
func TestPeersThatAreWrong(t *testing.T) {
	event := func(id, result string) string {
		return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%q,\"result\":%s}\n\n", id, result)
	}
	const task = `{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}}`
	huge := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name   string
		card   string
		answer func(id, method string) string
		want   error
	}{
		{"a card that is none", `[1]`, nil, a2a.ErrCard},
		{"a card without interfaces", `{"name":"x"}`, nil, a2a.ErrCard},
		{"a card with null", `{"supportedInterfaces":[null]}`, nil, a2a.ErrCard},
		{"a card with a file",
			`{"supportedInterfaces":[{"url":"file:///etc/passwd","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, nil,
			a2a.ErrCard},
		{"gRPC only", `{"supportedInterfaces":[{"url":"grpc.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`,
			nil, a2a.ErrNoInterface},
		{"99.0 only", `{"supportedInterfaces":[{"url":"URL","protocolBinding":"JSONRPC","protocolVersion":"99.0"}]}`, nil,
			a2a.ErrNoInterface},
		{"0.2.5 only", `{"url":"URL","protocolVersion":"0.2.5"}`, nil, a2a.ErrNoInterface},
		{"a huge card", `{"name":"` + strings.Repeat("x", a2a.MaxCardBytes) + `"}`, nil, a2a.ErrTooLarge},
		{"no JSON", stubCard, func(string, string) string { return "<html>" }, a2a.ErrGarbage},
		{"an event that is no JSON", stubCard, func(string, string) string { return "data: {\n\n" }, a2a.ErrGarbage},
		{"an event of no kind", stubCard, func(id, _ string) string { return event(id, `{"nothing":{}}`) }, a2a.ErrGarbage},
		{"an event of null", stubCard, func(id, _ string) string { return event(id, `null`) }, a2a.ErrGarbage},
		{"a task without an id", stubCard,
			func(id, _ string) string {
				return event(
					id, `{"task":{"status":{"state":"TASK_STATE_WORKING"}}}`)
			}, a2a.ErrGarbage},
		{"a task with a path for an id", stubCard, func(id, _ string) string {
			return event(id, `{"task":{"id":"../../x","status":{"state":"TASK_STATE_WORKING"}}}`)
		}, a2a.ErrGarbage},
		{"an empty stream", stubCard, func(string, string) string { return "data:\n\n" }, a2a.ErrGarbage},
		{"another task", stubCard, func(id, _ string) string {
			return event(id, task) +
				event(id, `{"statusUpdate":{"taskId":"t-2","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"}}}`)
		}, a2a.ErrForeignTask},
		{"a stream without end", stubCard, func(id, _ string) string {
			return event(id, task) + strings.Repeat(": "+huge+"\n\n", a2a.MaxStreamBytes>>20)
		}, a2a.ErrTooLarge},
		{"artifacts without end", stubCard, func(id, _ string) string {
			var b strings.Builder
			b.WriteString(event(id, task))
			for i := range a2a.MaxArtifacts + 1 {
				b.WriteString(
					event(id, fmt.Sprintf(
						`{"artifactUpdate":{"taskId":"t-1","contextId":"c-1","artifact":{"artifactId":"a%d","parts":[{"text":"x"}]}}}`,
						i)))
			}
			return b.String()
		}, a2a.ErrTooLarge},
		{"a line without end", stubCard,
			func(string, string) string { return "data: " + strings.Repeat("x", a2a.MaxEventBytes) }, a2a.ErrTooLarge},
		{"a refusal", stubCard, func(id, _ string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32005,"message":"no"}}`, id)
		}, proto.ErrUnsupportedContentType},
		{"a refusal with data of 0.3", stubCard, func(id, _ string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32005,"message":"no","data":{"any":"thing"}}}`, id)
		}, proto.ErrUnsupportedContentType},
		{"a task that is lost", stubCard, func(id, method string) string {
			if method == "SendStreamingMessage" {
				return event(id, task)
			}
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32001,"message":"no"}}`, id)
		}, a2a.ErrTaskLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.want == a2a.ErrTooLarge && strings.HasSuffix(c.name, "without end") {
				t.Skip("tens of megabytes")
			}
			s := newStub(t, c.card, func(id, method string, _ []byte) string { return c.answer(id, method) })
			if _, err := turn(t, &a2a.Options{CardURL: s.URL}); !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}

// Plain HTTP statuses are mapped to errors too.
func TestStatuses(t *testing.T) {
	for code, want := range map[int]error{401: a2a.ErrCredentials, 403: a2a.ErrCredentials, 404: a2a.ErrGarbage,
		302: a2a.ErrGarbage, 429: a2a.ErrUnreachable, 503: a2a.ErrUnreachable} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if strings.Contains(q.URL.Path, "well-known") {
				_, _ = io.WriteString(w, strings.ReplaceAll(stubCard, "URL", "http://"+q.Host))
				return
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}))
		defer s.Close()
		if _, err := turn(t, &a2a.Options{CardURL: s.URL}); !errors.Is(err, want) {
			t.Errorf("%d: %v, not %v", code, err, want)
		}
	}
	if _, err := turn(t, &a2a.Options{CardURL: "http://127.0.0.1:1"}); !errors.Is(err, a2a.ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
}

// If it is unknown whether the message of a turn arrived, the next attempt sends the same message.
func TestSameMessageAgain(t *testing.T) {
	s := newStub(t, stubCard, func(string, string, []byte) string { return "<html>" })
	w, _ := turn(t, &a2a.Options{CardURL: s.URL})
	_, err := newAgent(t, &a2a.Options{CardURL: s.URL}).HandleTurn(t.Context(), &parley.Turn{
		ConversationID: w.id, AgentID: "bot", Agent: "bot", Number: 2, Attempt: 2, Key: "k2", Client: w.hub.Client(t, "bot"),
	})
	if err == nil {
		t.Fatal("no error")
	}
	var ids []string
	for _, body := range s.requests() {
		var q struct{ Params proto.SendMessageRequest }
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.Params.Message.ID)
	}
	if len(ids) != 2 || ids[0] != ids[1] || !strings.HasPrefix(ids[0], "parley-") {
		t.Errorf("%q", ids)
	}
}

// If the ids of a stream are cursors, it is resumed after the last one.
func TestCursor(t *testing.T) {
	var cursor atomic.Value
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.Contains(q.URL.Path, "well-known") {
			_, _ = io.WriteString(w, strings.ReplaceAll(stubCard, "URL", s.URL))
			return
		}
		var call struct{ ID, Method string }
		_ = json.NewDecoder(q.Body).Decode(&call)
		say := func(id, result string) {
			fmt.Fprintf(w, "id: %s\ndata: {\"jsonrpc\":\"2.0\",\"id\":%q,\"result\":%s}\n\n", id, call.ID, result)
		}
		switch call.Method {
		case "SendStreamingMessage":
			w.Header().Set("Content-Type", "text/event-stream")
			say("4", `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`)
			say("7.1", `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a",`+
				`"parts":[{"text":"one "}]}}}`)
			fmt.Fprint(w, "id: 8\ndata: {\"jsonrpc\":\"2.0\",") // the stream breaks in the middle of an event
		case "SubscribeToTask":
			cursor.Store(q.Header.Get("Last-Event-ID"))
			w.Header().Set("Content-Type", "text/event-stream")
			say("9", `{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a",`+
				`"parts":[{"text":"two"}]}}}`)
			say("10", `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(
				w, `{"jsonrpc":"2.0","id":%q,"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`,
				call.ID)
		}
	}))
	defer s.Close()
	w, err := turn(t, &a2a.Options{CardURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.answer(t, 0); got.Text != "one two" || cursor.Load() != "7.1" {
		t.Errorf("%q after %v", got.Text, cursor.Load())
	}
}

// TestCredentials are sent only to the origin of the card and to the configured origins.
func TestCredentials(t *testing.T) {
	other := newRemote(t, 0, true)
	for _, c := range []struct {
		name   string
		header string
		named  bool
		want   string
	}{
		{"elsewhere", "", false, ""},
		{"elsewhere, and named", "", true, "Bearer s3cret"},
		{"as a header", "X-Api-Key", true, "s3cret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cards := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.Header.Get("Authorization")+q.Header.Get("X-Api-Key") == "" {
					t.Error("the card was asked for without the credentials")
				}
				_ = json.NewEncoder(w).Encode(other.card)
			}))
			defer cards.Close()
			o := &a2a.Options{CardURL: cards.URL, Token: "s3cret", Header: c.header}
			if c.named {
				o.Origins = []string{other.URL}
			}
			other.mu.Lock()
			other.headers = nil
			other.mu.Unlock()
			w, err := turn(t, o)
			if err != nil {
				t.Fatal(err)
			}
			other.mu.Lock()
			defer other.mu.Unlock()
			for _, h := range other.headers {
				name := c.header
				if name == "" {
					name = "Authorization"
				}
				if h.Get(name) != c.want {
					t.Errorf("%s: %q", name, h.Get(name))
				}
			}
			for _, tr := range w.traces(t) {
				if strings.Contains(tr.Text+string(tr.Data), "s3cret") {
					t.Error("the token is in the log")
				}
			}
		})
	}
}

// If the peer lost the task or the context, the message is sent without them under another id.
func TestForgottenTask(t *testing.T) {
	for _, lost := range []string{`"taskId"`, `"contextId"`} {
		t.Run(lost, func(t *testing.T) {
			asked := false
			s := newStub(t, stubCard, func(id, method string, body []byte) string {
				switch {
				case bytes.Contains(body, []byte(lost)):
					return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"error":{"code":-32001,"message":"no such thing"}}`, id)
				case asked:
					return fmt.Sprintf(
						"data: {\"jsonrpc\":\"2.0\",\"id\":%q,\"result\":{\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"anew\"}]}}}\n\n", id)
				}
				asked = true
				return fmt.Sprintf(
					"data: {\"jsonrpc\":\"2.0\",\"id\":%q,\"result\":{\"task\":{\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_INPUT_REQUIRED\"}}}}\n\n", id)
			})
			w := newWorld(t, &a2a.Options{CardURL: s.URL})
			if got := w.answer(t, w.say(t, "hello")); got.A2A.State != "input-required" || got.Text == "" {
				t.Fatalf("%+v", got)
			}
			if got := w.answer(t, w.say(t, "there")); got.Text != "anew" {
				t.Errorf("%+v", got)
			}
			ids := map[string]bool{}
			for _, body := range s.requests() {
				var q struct{ Params proto.SendMessageRequest }
				if err := json.Unmarshal([]byte(body), &q); err != nil {
					t.Fatal(err)
				}
				if ids[q.Params.Message.ID] {
					t.Error("two different messages have one id")
				}
				ids[q.Params.Message.ID] = true
			}
		})
	}
}

// A task that an earlier turn left open is canceled in the agent's next turn.
func TestLeftTask(t *testing.T) {
	r := newRemote(t, 0, true)
	o := &a2a.Options{CardURL: r.URL}
	w := newWorldHub(t)
	stop := w.run(t, newAgent(t, o), nil)
	w.say(t, "never")
	until(t, "the task is begun", func() bool { return len(w.traces(t)) > 1 })
	stop()
	if _, err := w.hub.Admin(t).CancelTurn(t.Context(),
		&parley.CancelTurnParams{ConversationID: w.id, Turn: 2}); err != nil {
		t.Fatal(err)
	}
	if n := r.cancels(); n != 0 {
		t.Fatalf("%d tasks were canceled already", n)
	}
	w.run(t, newAgent(t, o), nil)
	if got := w.answer(t, w.say(t, "hello")); got.Text != "the answer to hello" {
		t.Errorf("%+v", got)
	}
	if n := r.cancels(); n != 1 {
		t.Errorf("%d tasks were canceled", n)
	}
}
