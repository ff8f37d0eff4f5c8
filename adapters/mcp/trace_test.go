package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
	"github.com/parleyhub/parley/sdk/sdktest"
)

const (
	metaSpan   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	headerSpan = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

// tracedParams call post_message in a span.
func tracedParams(id, text string, since int64, traceparent string) *protocol.CallToolParams {
	p := &protocol.CallToolParams{Name: "post_message", Arguments: map[string]any{"conversation_id": id, "text": text, "since_seq": since, "finality": "none"}}
	if traceparent != "" {
		p.Meta = protocol.Meta{"traceparent": traceparent}
	}
	return p
}

// people gives a conversation in which alice may keep the floor.
func people(t *testing.T, h *sdktest.Hub) string {
	t.Helper()
	s, err := h.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice", Kind: parley.KindHuman}, {ID: "bob", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

// lastSpan gives the traceparent of the last event of a conversation.
func lastSpan(t *testing.T, h *sdktest.Hub, id string) string {
	t.Helper()
	page, err := h.InProcess(t, "alice").Tail(t.Context(), &parley.TailParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	return page.Events[len(page.Events)-1].Traceparent
}

// TestMetaTraceparent: a call of a tool goes on in the span of its _meta: what it says stands there. What is no traceparent is as none, and the same call in another span says nothing twice.
func TestMetaTraceparent(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := people(t, h)
	i := newIDE(t, h, "alice", nil)
	for text, c := range map[string]struct{ given, want string }{"one": {metaSpan, metaSpan}, "two": {"x", ""}, "three": {"", ""}} {
		r, err := i.session.CallTool(t.Context(), tracedParams(id, text, 0, c.given))
		if err != nil || r.IsError {
			t.Fatalf("%v %s", err, textOf(r))
		}
		if got := lastSpan(t, h, id); got != c.want {
			t.Errorf("%s was said in %q, want %q", text, got, c.want)
		}
	}
	r, err := i.session.CallTool(t.Context(), tracedParams(id, "one", 0, headerSpan))
	if err != nil || r.IsError || !r.StructuredContent.(map[string]any)["duplicate"].(bool) {
		t.Errorf("again, in another span: %v %+v", err, r)
	}
}

// TestToolSpans: with a tracer a call of a tool is a span of the server below the client's, and what it says stands in that; other requests are none.
func TestToolSpans(t *testing.T) {
	t.Parallel()
	told := &spantest.Recorder{}
	h := sdktest.NewHub(t)
	id := people(t, h)
	s := mcp.NewServer(&mcp.Options{Connect: mcp.Client(h.Client(t, "alice")), Version: "test"})
	near, far := protocol.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(parley.WithTracer(t.Context(), told))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx, far)
	}()
	session, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		cancel()
		<-done
	})
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r, err := session.CallTool(t.Context(), tracedParams(id, "one", 0, metaSpan)); err != nil || r.IsError {
		t.Fatalf("%v %s", err, textOf(r))
	}
	if r, err := session.CallTool(t.Context(), tracedParams("none", "one", 0, metaSpan)); err != nil || !r.IsError {
		t.Fatalf("%v %s", err, textOf(r))
	}
	want := "parley.mcp tools/call mcp post_message\nparley.mcp tools/call mcp post_message !tool_error\n"
	if got := told.Tree(metaSpan, spannames.AttrDoor, spannames.AttrGenAIToolName); got != want {
		t.Errorf("told\n%swant\n%s", got, want)
	}
	spans := told.Spans()
	if len(spans) != 2 || spans[0].Kind != parley.SpanServer || lastSpan(t, h, id) != spans[0].Traceparent {
		t.Errorf("said in %q, told %+v", lastSpan(t, h, id), spans)
	}
}

// spanned adds the header of a span to requests, while there is one.
type spanned struct{ header atomic.Pointer[string] }

func (s *spanned) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer some")
	if h := s.header.Load(); h != nil {
		r.Header.Set("traceparent", *h)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestTraceparentOverHTTP: over HTTP, in both eras, a call goes on in the span of its own request's header, and that of _meta wins. The tracer is that of the request.
func TestTraceparentOverHTTP(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			told := &spantest.Recorder{}
			h := sdktest.NewHub(t)
			id := people(t, h)
			s := mcp.NewServer(&mcp.Options{Connect: mcp.Client(h.Client(t, "alice")), Version: "test"})
			handler := mcp.NewHandler(s, func(*http.Request) string { return "alice" })
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.ServeHTTP(w, r.WithContext(parley.WithTracer(r.Context(), told)))
			}))
			t.Cleanup(func() {
				s.Close()
				server.CloseClientConnections()
				server.Close()
			})
			on := &spanned{}
			transport := &protocol.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: on}, MaxRetries: -1}
			header := headerSpan
			on.header.Store(&header)
			session, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil).Connect(t.Context(), transport, &protocol.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for _, c := range []struct {
				meta   string
				header *string
				parent string
			}{{"", &header, headerSpan}, {metaSpan, &header, metaSpan}, {"x", &header, headerSpan}, {metaSpan, nil, metaSpan}, {"", nil, ""}} {
				on.header.Store(c.header)
				before := len(told.Spans())
				if r, err := session.CallTool(t.Context(), tracedParams(id, fmt.Sprint(before), 0, c.meta)); err != nil || r.IsError {
					t.Fatalf("%v %s", err, textOf(r))
				}
				spans := told.Spans()[before:]
				if len(spans) != 1 || spans[0].Parent != c.parent || lastSpan(t, h, id) != spans[0].Traceparent {
					t.Errorf("_meta %q: said in %q, told %+v, want below %q", c.meta, lastSpan(t, h, id), spans, c.parent)
				}
			}
		})
	}
}
