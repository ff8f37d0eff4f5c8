package mcp_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// BenchmarkPostMessage compares a call over HTTP, in the revision without sessions, with the same
// message sent to the hub directly. It uses one process, no sockets and no disk.
func BenchmarkPostMessage(b *testing.B) {
	h := sdktest.NewHub(b)
	alice := h.InProcess(b, "alice")
	made, err := alice.CreateConversation(b.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice",
			Kind: parley.KindPeer}}, Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	})
	if err != nil {
		b.Fatal(err)
	}
	s := mcp.NewServer(&mcp.Options{Connect: mcp.Client(alice)})
	defer s.Close()
	handler := mcp.NewHandler(s, func(*http.Request) string { return "alice" })
	text, seq := strings.Repeat("x", 500), made.LatestSeq
	b.Run("mcp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"post_message",`+
				`"arguments":{"conversation_id":"%s","since_seq":%d,"text":"%s"},`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"%s",`+
				`"io.modelcontextprotocol/clientCapabilities":{}}}}`, made.ConversationID, seq, text, modern)
			r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(body))
			r.Header = http.Header{
				"Authorization": {"Bearer some"}, "Content-Type": {"application/json"}, "Accept": {"application/json, " +
					"text/event-stream"},
				"Mcp-Protocol-Version": {modern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"post_message"},
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if seq++; !strings.Contains(w.Body.String(), fmt.Sprintf(`"since_seq":%d`, seq)) {
				b.Fatalf("%d %s", w.Code, w.Body)
			}
		}
	})
	b.Run("hub", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			payload := fmt.Appendf(nil, `{"text":"%s"}`, text)
			p := &parley.SendMessageParams{ConversationID: made.ConversationID, Payload: payload, Finality: parley.FinalityTurn,
				AfterSeq: &seq, ClientRequestID: fmt.Sprint("k", seq)}
			r, err := alice.SendMessage(b.Context(), p)
			if err != nil {
				b.Fatal(err)
			}
			seq = r.Seq
		}
	})
}
