package mcp_test

import (
	"context"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// Requests are answered even if the library refuses them before a handler runs, if their handler
// panics, or if their arguments are null.
func TestRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	calls := 0
	client := h.Client(t, "alice")
	alice := newIDE(t, h, "alice", func(o *mcp.Options) {
		o.Connect = func(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) {
			if calls++; calls == 1 {
				panic("on purpose")
			}
			return client, func() {}, nil
		}
	})
	if _, err := alice.session.CallTool(t.Context(), &protocol.CallToolParams{Name: "list_conversations"}); err == nil ||
		!strings.Contains(err.Error(), "internal") {
		t.Errorf("a handler that panics: %v", err)
	}
	if _, err := alice.session.CallTool(t.Context(), &protocol.CallToolParams{Name: "no_such_tool"}); err == nil {
		t.Error("an unknown tool is accepted")
	}
	if _, err := alice.session.GetPrompt(t.Context(), &protocol.GetPromptParams{Name: "no_such_prompt"}); err == nil {
		t.Error("an unknown prompt is accepted")
	}
	alice.must("list_conversations", nil, nil)
}
