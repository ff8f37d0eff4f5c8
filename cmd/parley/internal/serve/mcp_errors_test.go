package serve

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// TestMCPNamedErrors: the fault of a call has its name and the call to make next, over stdio and
// HTTP and in both versions.
func TestMCPNamedErrors(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	bob := h.client("plt_root_of_this_test", "bob")
	foreign, err := bob.CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "bob", Kind: parley.KindPeer}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(mcpUsers(t, "", ""))) {
		t.Run(name, func(t *testing.T) {
			secret, tokenID := h.token("ann", nil)
			u := &mcpUser{t: t, connect: mcpUsers(t, h.s.Addr, secret)[name]}
			defer u.leave()
			_, c := u.call("create_conversation",
				map[string]any{"participants": []any{map[string]any{"id": "ann", "kind": "human"},
					map[string]any{"id": "bob", "kind": "peer"}}})
			id, since := c["conversation_id"], c["since_seq"]
			for _, c := range []struct {
				tool  string
				args  map[string]any
				words []string
			}{
				{"read_conversation", map[string]any{"conversation_id": foreign.ConversationID},
					[]string{"not_found: ", "list_conversations"}},
				{"wait_for_updates", map[string]any{"conversation_id": foreign.ConversationID},
					[]string{"not_found: ", "list_conversations"}},
				{"post_message", map[string]any{"conversation_id": foreign.ConversationID, "since_seq": 1, "text": "hello"},
					[]string{"not_found: ", "list_conversations"}},
				{"post_message", map[string]any{"conversation_id": id, "since_seq": since, "text": strings.Repeat("x", 1<<20)},
					[]string{"validation_failed: text: ", "1048576", "1 to 500000 characters", "Next: "}},
				{"post_message",
					map[string]any{"conversation_id": id, "since_seq": since, "text": "hello",
						"data": map[string]any{"much": strings.Repeat("x", 1<<20)}}, []string{"too_large: "}},
				{"wait_for_updates", map[string]any{"conversation_id": id, "since_seq": 99},
					[]string{"cursor_ahead: ", "99", "Next: "}},
				{"read_conversation", map[string]any{"conversation_id": id, "since_seq": 99},
					[]string{"cursor_ahead: ", "99", "Next: "}},
				{"post_message", map[string]any{"conversation_id": id, "since_seq": 99, "text": "hello"},
					[]string{"cursor_ahead: ", "99", "Next: "}},
				{"start_agent_session", map[string]any{"agent_name": "nobody", "prompt": "hello"},
					[]string{"not_found: ", "nobody", "list_agent_blueprints"}},
			} {
				text, refused, err := clitest.CallTool(t.Context(), u.session, c.tool, c.args)
				if err != nil || !refused || len(text) > 2000 {
					t.Errorf("%s: refused %t, %v, %d bytes: %.300s", c.tool, refused, err, len(text), text)
				}
				for _, w := range c.words {
					if !strings.Contains(text, w) {
						t.Errorf("%s: the refusal does not have %q: %.600s", c.tool, w, text)
					}
				}
			}
			if _, err := bob.RevokeToken(t.Context(), &parley.RevokeTokenParams{TokenID: tokenID}); err != nil {
				t.Fatal(err)
			}
			text, refused, err := clitest.CallTool(t.Context(), u.session, "list_conversations", nil)
			switch {
			case strings.HasPrefix(name, "stdio") &&
				(err != nil || !refused || !strings.HasPrefix(text, "unauthenticated: ") ||
					!strings.Contains(text, "PARLEY_TOKEN")):
				t.Errorf("a token that has ended: %q, %v", text, err)
			case strings.HasPrefix(name, "http") && err == nil:
				t.Errorf("a token that has ended: %q", text)
			}
		})
	}
	t.Run("at the door", func(t *testing.T) { checkMCPDoor(t, bob, h.s.URL, h.s.Addr) })
}

// checkMCPDoor: no token, a wrong one and one that has expired are refused by name, over HTTP and
// by the program.
func checkMCPDoor(t *testing.T, admin parley.Client, url, addr string) {
	made, err := admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "ann", ExpiresInMs: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for token, word := range map[string]string{"": "PARLEY_TOKEN is not set", "plt_wrong": "unauthenticated",
		made.Token: "unauthenticated"} {
		status, body := postMCP(t, addr, token)
		// its second is not over
		for end := time.Now().Add(clitest.Patience); token == made.Token && status != http.StatusUnauthorized &&
			time.Now().Before(end); {
			status, body = postMCP(t, addr, token)
		}
		if status != http.StatusUnauthorized || !strings.Contains(body, "unauthenticated") {
			t.Errorf("token %q over HTTP: %d %s", token, status, body)
		}
		ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
		cmd := exec.CommandContext(ctx, "parley", "mcp")
		cmd.Env = append(os.Environ(), cli.EnvURL+"="+url, cli.EnvToken+"="+token)
		said, err := cmd.CombinedOutput()
		cancel()
		if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(string(said), word) {
			t.Errorf("parley mcp with token %q: code %d, %v: %s", token, code, err, said)
		}
	}
}

// postMCP lists the tools, and returns the status and the body of the answer.
func postMCP(t *testing.T, addr, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+mcpPath,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
