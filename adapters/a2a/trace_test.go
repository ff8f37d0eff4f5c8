package a2a

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spantest"
)

const (
	messageSpan = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	requestSpan = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	headSpan    = "00-11111111111111111111111111111111-2222222222222222-01"
)

// A message continues the span in its metadata, otherwise that of its request, otherwise that of
// the header. Its event records that span, or, with a tracer, that of the operation. The stored
// metadata has no span, so that the message can be repeated in another span.
func TestTraceparent(t *testing.T) {
	told := &spantest.Recorder{}
	w := newOpsWorld(t)
	alice := w.caller("alice")
	w.s.opts.Connect = func(*http.Request) (parley.Client, func(), error) { return alice.client, nil, nil }
	for name, c := range map[string]struct {
		message, request, header string
		tracer                   parley.Tracer
		want                     string
	}{
		"message": {messageSpan, requestSpan, headSpan, nil, messageSpan}, "request": {"x", requestSpan, headSpan, nil,
			requestSpan}, "header": {"", "", headSpan, nil, headSpan},
		"none": {"", "", "x", nil, ""}, "told": {messageSpan, "", headSpan, told, messageSpan},
	} {
		t.Run(name, func(t *testing.T) {
			post := func(message, request string) *httptest.ResponseRecorder {
				body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-` + name +
					`","role":"ROLE_USER","parts":[{"text":"hi"}],` +
					`"metadata":{"traceparent":"` + message + `","tracestate":"a=b","kept":"yes"}},"metadata":{"traceparent":"` +
					request + `"}}}`
				r := httptest.NewRequest(http.MethodPost, "/a2a/bot", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("A2A-Version", "1.0")
				r.Header.Set("traceparent", c.header)
				if c.tracer != nil {
					r = r.WithContext(parley.WithTracer(r.Context(), c.tracer))
				}
				answer := httptest.NewRecorder()
				w.s.Handler().ServeHTTP(answer, r)
				return answer
			}
			answer := post(c.message, c.request)
			if answer.Code != http.StatusOK || strings.Contains(answer.Body.String(), `"error"`) {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			if again := post(requestSpan, messageSpan); again.Code != http.StatusOK || strings.Contains(again.Body.String(),
				`"error"`) {
				t.Errorf("again, in other spans: %d %s", again.Code, again.Body)
			}
			said := saidAs(t, alice.client, "m-"+name)
			got := said.Traceparent
			if c.tracer != nil {
				spans := told.Named("parley.a2a SendMessage")
				if len(spans) != 2 || spans[0].Traceparent != got || spans[0].Parent != c.want ||
					spans[0].Kind != parley.SpanServer {
					t.Errorf("said in %q, told %+v", got, spans)
				}
				got = c.want
			}
			if got != c.want {
				t.Errorf("said in %q, want %q", got, c.want)
			}
			if raw := string(said.Payload); strings.Contains(raw, "traceparent") || strings.Contains(raw, "tracestate") ||
				!strings.Contains(raw, `"kept":"yes"`) {
				t.Errorf("kept as %s", raw)
			}
		})
	}
}

// saidAs returns a message by its A2A id.
func saidAs(t *testing.T, c parley.Client, messageID string) parley.Event {
	t.Helper()
	list, err := c.ListConversations(t.Context(), &parley.ListConversationsParams{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Conversations {
		page, err := c.Tail(t.Context(), &parley.TailParams{ConversationID: s.ConversationID})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if e.ClientRequestID == messageRequestID(messageID) {
				return e
			}
		}
	}
	t.Fatalf("no message %s was said", messageID)
	return parley.Event{}
}

// The span of a refused operation has the name of the error. Operations that only read have no
// span.
func TestFailedOperationSpan(t *testing.T) {
	told := &spantest.Recorder{}
	for _, o := range []operation{opCancel, opGet} {
		x := &httpCall{
			httpServer: (&Server{}).front(nil), w: httptest.NewRecorder(), caller: &caller{agent: &Agent{Name: "bot"}},
			version: version10, media: mediaJSON,
			r: httptest.NewRequest(http.MethodPost, "/", nil).WithContext(parley.WithTracer(context.Background(), told)),
		}
		end := x.startSpan(o, &a2a.CancelTaskRequest{})
		x.refuse(errors.Join(a2a.ErrTaskNotFound))
		end()
	}
	if spans := told.Spans(); len(spans) != 1 || spans[0].Name != "parley.a2a CancelTask" ||
		spans[0].Failure != "TASK_NOT_FOUND" || spans[0].Ends != 1 {
		t.Errorf("%+v", spans)
	}
}
