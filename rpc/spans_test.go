package rpc_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
	"github.com/parleyhub/parley/rpc"
)

// Spans of a caller.
const (
	span1 = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	span2 = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	span3 = "00-11111111111111111111111111111111-2222222222222222-00"
)

// traceparents returns those of the events of a conversation.
func (w *world) traceparents(id string) (all []string) {
	w.t.Helper()
	records, err := w.journal.Read(id, 0, 1000, 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range records {
		var e parley.Event
		if err := e.UnmarshalJSON(r.Data); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, e.Traceparent)
	}
	return all
}

func (w *world) checkTraceparents(id string, want ...string) {
	w.t.Helper()
	if got := w.traceparents(id); !slices.Equal(got, want) {
		w.t.Errorf("the spans of %s are\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// sayings says one thing through every door that takes params with a traceparent; in names the
// span, in the params or beside them.
func (w *world) sayings(id, param, header string) {
	w.t.Helper()
	var member string
	h := http.Header{"Authorization": {"Bearer " + devToken}, "Parley-Agent": {"alice"},
		"Content-Type": {"application/json"}}
	if param != "" {
		member = fmt.Sprintf(`,"traceparent":%q`, param)
	}
	if header != "" {
		h.Set("traceparent", header)
	}
	note := fmt.Sprintf(`{"conversationId":%q,"payload":{"schema":"s","data":1}%s}`, id, member)
	if status, _, body := w.post(h, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"sendNote","params":`+note+`}`)); status != 200 {
		w.t.Fatalf("%d %s", status, body)
	}
	resp := w.do(h, "POST", "/conversations/"+id+"/notes", `{"payload":{"schema":"s","data":2}`+member+`}`)
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		w.t.Fatalf("%d %s", resp.StatusCode, body)
	}
	p := w.dial("alice", h)
	p.must(methods.SendNote, note)
	var whole string
	if header != "" {
		whole = fmt.Sprintf(`,"traceparent":%q`, header)
	}
	p = w.dial("alice", nil)
	p.must(methods.Authenticate, fmt.Sprintf(`{"token":%q,"agentId":"alice"%s}`, devToken, whole))
	p.must(methods.SendNote, note)
}

// TestTraceparentOfEveryDoor: without a tracer the event has the span of the caller: that of the
// param, or else that of the header or of the connection. An invalid header counts as missing.
func TestTraceparentOfEveryDoor(t *testing.T) {
	for name, c := range map[string]struct{ param, header, want string }{
		"none": {"", "", ""}, "param": {span1, "", span1}, "beside": {"", span2, span2}, "both": {span1, span2, span1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.as("alice").create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}]}`)
				w.sayings("case", c.param, c.header)
				w.checkTraceparents("case", "", c.want, c.want, c.want, c.want)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}]}`)
		for _, values := range [][]string{{"x"}, {span1, span2}, {strings.ToUpper(span1)}, {""}} {
			h := http.Header{"Authorization": {"Bearer " + devToken}, "Parley-Agent": {"alice"},
				"Content-Type": {"application/json"}, "Traceparent": values}
			resp := w.do(h, "POST", "/conversations/case/notes", `{"payload":{"schema":"s","data":2}}`)
			resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				t.Errorf("traceparent %q: %d", values, resp.StatusCode)
			}
		}
		w.checkTraceparents("case", "", "", "", "", "")
		p := w.dial("alice", nil)
		if got := p.call(methods.Authenticate, `{"token":"dev","agentId":"alice","traceparent":"x"}`); !strings.Contains(
			got, "validation_failed") || !strings.Contains(got, "W3C Trace Context") {
			t.Errorf("authenticate with a traceparent that is none: %s", got)
		}
	})
}

// TestSpansOfCalls: with a tracer each call whose params have a traceparent is a span below that of
// the caller, and the event has that span. The span of a turn is below that of the event that it
// answers. Other calls have no span.
func TestSpansOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := &spantest.Recorder{}
		w := newWorld(t, &rpc.Options{Tracer: spans})
		ann := w.as("ann")
		ann.create(fmt.Sprintf(`{"conversationId":"case","participants":[{"id":"ann","kind":"human"},{"id":"bot",`+
			`"kind":"agent"}],"traceparent":%q}`, span3))
		ann.must(methods.SendMessage, fmt.Sprintf(
			`{"conversationId":"case","payload":{"text":"hi"},"finality":"turn","clientRequestId":"k","traceparent":%q}`, span1))
		bot := w.as("bot")
		var claimed parley.ClaimTurnResult
		if err := json.Unmarshal(bot.must(methods.ClaimTurn, `{"conversationId":"case","turn":2}`),
			&claimed); err != nil {
			t.Fatal(err)
		}
		turn := claimed.Traceparent
		bot.must(methods.SendTrace, fmt.Sprintf(`{"conversationId":"case","payload":{"kind":"k"},"traceparent":%q}`,
			turn))
		bot.must(methods.SendMessage, fmt.Sprintf(
			`{"conversationId":"case","payload":{"text":"ho"},"finality":"turn","traceparent":%q}`, turn))
		ann.must(methods.SendMessage, fmt.Sprintf(
			`{"conversationId":"case","payload":{"text":"hi"},"finality":"turn","clientRequestId":"k","traceparent":%q}`, span1))
		ann.must(methods.Tail, `{"conversationId":"case","sinceSeq":0}`)
		if got := ann.call(methods.SendNote, fmt.Sprintf(
			`{"conversationId":"none","payload":{"schema":"s","data":1},"traceparent":%q}`, span1)); !strings.Contains(
			got, "not_found") {
			t.Fatal(got)
		}
		if got := ann.call(methods.SendNote,
			`{"conversationId":"case","payload":{"schema":"s","data":1},"traceparent":"x"}`); !strings.Contains(got,
			"validation_failed") {
			t.Fatal(got)
		}
		want := `parley.sendMessage ws ann case 2 false
  turn bot case
    parley.sendTrace ws bot case 4 false
    parley.sendMessage ws bot case 5 false
parley.sendMessage ws ann case 2 true
parley.sendNote ws ann none !not_found
`
		if got := spans.Tree(span1, spannames.AttrDoor, spannames.AttrCallerID, spannames.AttrGenAIConversationID,
			spannames.AttrEventSeq,
			spannames.AttrDuplicate); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if got := spans.Tree(span3, spannames.AttrRPCMethod); got != "parley.createConversation createConversation\n" {
			t.Error(got)
		}
		if n := len(spans.Spans()); n != 7 {
			t.Errorf("%d spans, want 7", n)
		}
		stored := w.traceparents("case")
		for i, name := range []string{"parley.createConversation", "parley.sendMessage", "", "parley.sendTrace",
			"parley.sendMessage"} {
			if name != "" && !slices.ContainsFunc(spans.Named(name),
				func(s spantest.Span) bool { return s.Traceparent == stored[i] && s.Kind == parley.SpanServer }) {
				t.Errorf("event %d was said in %q, which is no span of %s", i+1, stored[i], name)
			}
		}
	})
}

// TestProtocolsAreTraced: the context of a request to a protocol has the tracer.
func TestProtocolsAreTraced(t *testing.T) {
	spans := &spantest.Recorder{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, parley.TracerOf(r.Context()) == parley.Tracer(spans), parley.TraceparentOf(r.Context()))
	}
	synctest.Test(t, func(t *testing.T) {
		w := newProtocolWorld(t, &rpc.Options{Tracer: spans}, &rpc.Protocol{Handler: http.HandlerFunc(handler)})
		h := bearer(devToken)
		h.Set("traceparent", span1)
		resp := w.do(h, "POST", protocolPath, "")
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); string(body) != "true" {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
}
