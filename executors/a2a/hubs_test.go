package a2a_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	adapter "github.com/parleyhub/parley/adapters/a2a"
	"github.com/parleyhub/parley/examples/echo"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/a2a"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// newFarHub starts another hub, whose agent echo is available over A2A.
func newFarHub(t *testing.T, around func(http.Handler) http.Handler) (*sdktest.Hub, string) {
	t.Helper()
	h := sdktest.NewHub(t)
	ctx, cancel := context.WithCancel(context.Background())
	client := h.Client(t, "echo")
	var done sync.WaitGroup
	done.Go(func() { _ = executors.Run(ctx, client, echo.Agent(20*time.Millisecond), &executors.Options{Drain: -1}) })
	t.Cleanup(func() { cancel(); done.Wait() })
	guest := h.Client(t, "guest")
	s, err := adapter.New(&adapter.Options{
		Agents:  []adapter.Agent{{Name: "echo", Speaks: "echo"}},
		Connect: func(*http.Request) (parley.Client, func(), error) { return guest, func() {}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := s.Handler()
	if around != nil {
		handler = around(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return h, web.URL + "/a2a/echo"
}

// farCard returns the card of the far hub with one of its interfaces.
func farCard(t *testing.T, url string, version proto.ProtocolVersion, binding proto.TransportProtocol,
	streaming bool) *proto.AgentCard {
	t.Helper()
	o := &a2a.Options{CardURL: url, HTTP: http.DefaultClient}
	asked := "1.0"
	if version != "1.0" {
		asked = ""
	}
	found, err := a2a.FetchCard(t.Context(), o, asked)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range a2a.Spoken(found.Card) {
		if i.ProtocolVersion == version && i.ProtocolBinding == binding {
			found.Card.SupportedInterfaces = []*proto.AgentInterface{i}
			found.Card.Capabilities.Streaming = streaming
			return found.Card
		}
	}
	all, _ := json.Marshal(found.Card.SupportedInterfaces)
	t.Fatalf("the card has no %s %s: %s", binding, version, all)
	return nil
}

// An agent of one hub has a seat at another hub, with every binding and version, with and without
// streams.
func TestTwoHubs(t *testing.T) {
	_, url := newFarHub(t, nil)
	for _, version := range []proto.ProtocolVersion{"1.0", "0.3"} {
		for _, binding := range []proto.TransportProtocol{proto.TransportProtocolJSONRPC, proto.TransportProtocolHTTPJSON} {
			for _, streaming := range []bool{true, false} {
				name := string(version) + " " + string(binding)
				if streaming {
					name += " streaming"
				}
				t.Run(name, func(t *testing.T) {
					w := newWorld(t, &a2a.Options{Card: farCard(t, url, version, binding, streaming)})
					hello := w.answer(t, w.say(t, "hello"))
					if hello.Text != "hello" || hello.A2A.State != "completed" || !strings.HasPrefix(hello.A2A.ContextID, "cnv_") {
						t.Errorf("%+v", hello)
					}
					asked := w.answer(t, w.say(t, "ask"))
					if asked.A2A.State != "input-required" || asked.Text != "What shall I say?" ||
						asked.A2A.ContextID != hello.A2A.ContextID {
						t.Errorf("%+v", asked)
					}
					reply := w.answer(t, w.say(t, "that"))
					if reply.Text != "You said: that" || reply.A2A.TaskID != asked.A2A.TaskID || reply.A2A.State != "completed" {
						t.Errorf("%+v", reply)
					}
					slow := w.answer(t, w.say(t, "slow"))
					if slow.Text != "Done: slow" {
						t.Errorf("%+v", slow)
					}
					data := w.answer(t, w.say(t, `{"text":"x","data":{"a":[1,{"b":null}]}}`))
					if data.Text != "x" || string(data.Data) != `{"a":[1,{"b":null}]}` {
						t.Errorf("%+v", data)
					}
				})
			}
		}
	}
}

// The connection between the hubs is closed repeatedly during streams. Each message is posted once
// on both sides.
func TestTwoHubsCut(t *testing.T) {
	var streams atomic.Int64
	far, url := newFarHub(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.Header.Get("Accept") != "text/event-stream" {
				next.ServeHTTP(w, q)
				return
			}
			n := streams.Add(1)
			next.ServeHTTP(&cutter{ResponseWriter: w, left: int(n%4) + 1}, q)
			if n%2 == 0 {
				panic(http.ErrAbortHandler)
			}
		})
	})
	w := newWorld(t, &a2a.Options{CardURL: url})
	var context string
	for range 5 {
		got := w.answer(t, w.say(t, "slow"))
		if got.Text != "Done: slow" {
			t.Errorf("%+v", got)
		}
		context = got.A2A.ContextID
	}
	r, err := far.Admin(t).GetUpdates(t.Context(),
		&parley.GetUpdatesParams{ConversationID: context, Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, e := range r.Messages {
		if e.From == "guest" {
			asked++
		}
	}
	if asked != 5 {
		t.Errorf("%d messages have come, not 5", asked)
	}
}

// An attempt that sent its message without an answer is repeated, and the message is posted once at
// the other hub.
func TestTwoHubsRetry(t *testing.T) {
	var lost atomic.Int64
	far, url := newFarHub(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.Method == http.MethodPost && lost.Add(1) <= 2 {
				next.ServeHTTP(httptest.NewRecorder(), q)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, q)
		})
	})
	w := newWorld(t, &a2a.Options{CardURL: url})
	got := w.answer(t, w.say(t, "hello"))
	if got.Text != "hello" {
		t.Errorf("%+v", got)
	}
	r, err := far.Admin(t).GetUpdates(t.Context(),
		&parley.GetUpdatesParams{ConversationID: got.A2A.ContextID, Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Messages) != 2 {
		t.Errorf("%d messages over there, not 2", len(r.Messages))
	}
	if n := lost.Load(); n < 3 {
		t.Errorf("it was asked %d times", n)
	}
}

// A file is sent unchanged in both directions.
func TestTwoHubsFiles(t *testing.T) {
	_, url := newFarHub(t, nil)
	w := newWorld(t, &a2a.Options{CardURL: url})
	at, err := w.ann.PutAttachment(t.Context(),
		&parley.PutAttachmentParams{ConversationID: w.id, Name: "a.bin", MediaType: "application/x-a",
			Data: []byte("\x00\x01\xfe\xff")})
	if err != nil {
		t.Fatal(err)
	}
	got := w.answer(
		t, w.say(t, `{"text":"x","attachments":[{"sha256":"`+at.SHA256+`","name":"a.bin","mediaType":"application/x-a"}]}`))
	if len(got.Attachments) != 1 || got.Attachments[0].SHA256 != at.SHA256 || got.Attachments[0].Name != "a.bin" ||
		got.Attachments[0].MediaType != "application/x-a" {
		t.Errorf("%+v", got)
	}
}
