package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/sdk"
)

// TestServeMCPSettings: the settings of the door arrive at it.
func TestServeMCPSettings(t *testing.T) {
	t.Parallel()
	_, first, _ := clitest.StartHub(t, nil, "--dev", "--mcp", "--mcp-read-only", "--mcp-toolset", "conversations",
		"--mcp-max-wait", "1s", "--public-url", "https://hub.example.com/parley")
	c, err := sdk.Dial(t.Context(), first.URL, &sdk.Options{Token: first.Token, AgentID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	made, err := c.CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}}})
	if err != nil {
		t.Fatal(err)
	}
	h := &mcpTestHub{t: t, http: "http://" + first.Listening}
	s := clitest.OpenMCPSession(t, h.http, first.Token, "2026-07-28")
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if !tool.Annotations.ReadOnlyHint || strings.Contains(tool.Name, "agent") {
			t.Errorf("there is the tool %s", tool.Name)
		}
	}
	if len(tools.Tools) == 0 {
		t.Error("there are no tools")
	}
	waited, err := s.CallTool(t.Context(), &protocol.CallToolParams{Name: "wait_for_updates", Arguments: map[string]any{
		"conversation_id": made.ConversationID, "until": "closed", "since_seq": 1, "wait_seconds": 50,
	}})
	if err != nil || waited.IsError {
		t.Fatal(waited, err)
	}
	if got := waited.StructuredContent.(map[string]any); got["timed_out"] != true || got["cap_ms"] != 1000. {
		t.Errorf("a wait of at most 1 s: %v", got)
	}
	resp, err := http.Get(h.http + mcpMetadata)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc struct{ Resource string }
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil || doc.Resource != "https://hub.example.com/parley/mcp" {
		t.Errorf("metadata: %+v, %v", doc, err)
	}
	refused, err := http.Post(h.http+mcpPath, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Body.Close()
	if got := refused.Header.Get("WWW-Authenticate"); !strings.Contains(got,
		`resource_metadata="https://hub.example.com/parley/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("WWW-Authenticate %q", got)
	}
}
