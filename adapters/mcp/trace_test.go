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

// tracedParams returns the parameters of a post_message in a span.
func tracedParams(id, text string, since int64, traceparent string) *protocol.CallToolParams {
	p := &protocol.CallToolParams{Name: "post_message", Arguments: map[string]any{"conversation_id": id, "text": text,
		"since_seq": since, "finality": "none"}}
	if traceparent != "" {
		p.Meta = protocol.Meta{"traceparent": traceparent}
	}
	return p
}

// newPeopleConversation creates a conversation in which alice may keep the floor.
func newPeopleConversation(t *testing.T, h *sdktest.Hub) string {
	t.Helper()
	s, err := h.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice", Kind: parley.KindHuman}, {ID: "bob", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

// lastSpan returns the traceparent of the last event of a conversation.
func lastSpan(t *testing.T, h *sdktest.Hub, id string) string {
	t.Helper()
	page, err := h.InProcess(t, "alice").Tail(t.Context(), &parley.TailParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	return page.Events[len(page.Events)-1].Traceparent
}

// A tool call continues the span of its _meta, and its message records it. An invalid traceparent
// is ignored, and a repeated call in another span posts nothing.
func TestMetaTraceparent(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := newPeopleConversation(t, h)
	i := newIDE(t, h, "alice", nil)
	for text, c := range map[string]struct{ given, want string }{"one": {metaSpan, metaSpan}, "two": {"x", ""},
		"three": {"", ""}} {
		r, err := i.session.CallTool(t.Context(), tracedParams(id, text, 0, c.given))
		if err != nil || r.IsError {
			t.Fatalf("%v %s", err, schemaText(r))
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

// With a tracer, a tool call is a server span below that of the client, and its message records it.
// Other requests have no span.
func TestToolSpans(t *testing.T) {
	t.Parallel()
	told := &spantest.Recorder{}
	h := sdktest.NewHub(t)
	id := newPeopleConversation(t, h)
	s := mcp.NewServer(&mcp.Options{Connect: mcp.Client(h.Client(t, "alice")), Version: "test"})
	near, far := protocol.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(parley.WithTracer(t.Context(), told))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx, far)
	}()
	session, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil).Connect(t.Context(),
		near, nil)
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
		t.Fatalf("%v %s", err, schemaText(r))
	}
	if r, err := session.CallTool(t.Context(), tracedParams("none", "one", 0, metaSpan)); err != nil || !r.IsError {
		t.Fatalf("%v %s", err, schemaText(r))
	}
	want := "parley.mcp tools/call mcp post_message\nparley.mcp tools/call mcp post_message !tool_error\n"
	if got := told.Tree(metaSpan, spannames.AttrDoor, spannames.AttrGenAIToolName); got != want {
		t.Errorf("spans\n%swant\n%s", got, want)
	}
	spans := told.Spans()
	if len(spans) != 2 || spans[0].Kind != parley.SpanServer || lastSpan(t, h, id) != spans[0].Traceparent {
		t.Errorf("posted in %q, spans %+v", lastSpan(t, h, id), spans)
	}
}

// spanTransport adds the header of a span, if it is set.
type spanTransport struct{ header atomic.Pointer[string] }

func (s *spanTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer some")
	if h := s.header.Load(); h != nil {
		r.Header.Set("traceparent", *h)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Over HTTP, in both eras, a call continues the span of its HTTP request, and _meta has precedence.
// The call uses the tracer of the request.
func TestTraceparentOverHTTP(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			told := &spantest.Recorder{}
			h := sdktest.NewHub(t)
			id := newPeopleConversation(t, h)
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
			on := &spanTransport{}
			transport := &protocol.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: on},
				MaxRetries: -1}
			header := headerSpan
			on.header.Store(&header)
			session, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"},
				nil).Connect(t.Context(), transport, &protocol.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for _, c := range []struct {
				meta   string
				header *string
				parent string
			}{{"", &header, headerSpan}, {metaSpan, &header, metaSpan}, {"x", &header, headerSpan}, {metaSpan, nil,
				metaSpan}, {"", nil, ""}} {
				on.header.Store(c.header)
				before := len(told.Spans())
				if r, err := session.CallTool(t.Context(), tracedParams(id, fmt.Sprint(before), 0, c.meta)); err != nil ||
					r.IsError {
					t.Fatalf("%v %s", err, schemaText(r))
				}
				spans := told.Spans()[before:]
				if len(spans) != 1 || spans[0].Parent != c.parent || lastSpan(t, h, id) != spans[0].Traceparent {
					t.Errorf("_meta %q: posted in %q, spans %+v, want below %q", c.meta, lastSpan(t, h, id), spans, c.parent)
				}
			}
		})
	}
}
