package mcp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestOptionalNulls checks that null for an optional argument counts as absent.
func TestOptionalNulls(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice := newIDE(t, h, "alice", nil)
	id := h.Create(t, "alice", "bob")
	alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": nil, "until": nil, "wait_seconds": 0}, nil)
	alice.must("list_conversations", map[string]any{"status": nil}, nil)
	alice.must("post_message", map[string]any{"conversation_id": id, "text": "hi", "finality": nil, "since_seq": 1, "data": nil}, nil)
	other := h.Create(t, "alice", "bob")
	alice.must("post_message", map[string]any{"conversation_id": other, "text": "hi", "since_seq": nil}, nil)
	alice.must("create_conversation", map[string]any{"title": nil, "participants": []any{
		map[string]any{"id": "alice", "kind": "human", "agent": nil}, map[string]any{"id": "bob", "kind": "human", "role": nil},
	}}, nil)
	alice.refused("post_message", map[string]any{"conversation_id": id, "since_seq": 1, "text": nil},
		"text: null is not accepted", "Expected: text of 1 to 500000 characters.")
	alice.refused("wait_for_updates", map[string]any{"conversation_id": nil}, "conversation_id: null is not accepted")
}

// TestRefuseID checks which ids are refused.
func TestRefuseID(t *testing.T) {
	t.Parallel()
	for id, refused := range map[string]bool{
		`1`: false, `-1`: false, `0`: false, `"9007199254740993"`: false, `"a"`: false, `null`: false, `1e3`: true, `1.0`: true, `-0`: true,
		`9007199254740991.4`: true, `0.99999999999999999999`: true,
		`9007199254740991`: false, `9007199254740992`: true, `9007199254740993`: true, `-9007199254740993`: true,
		`9223372036854775808`: true, `1.5`: true, `1e400`: true,
	} {
		answer := string(mcp.RefuseID([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)))
		if (answer != "") != refused || refused && !strings.Contains(answer, `"id":`+id+`,`) && !strings.Contains(answer, `"id":`+id+`}`) {
			t.Errorf("id %s: %q, refused should be %t", id, answer, refused)
		}
	}
	for _, message := range []string{`{"jsonrpc":"2.0","method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"result":{}}`,
		`{"jsonrpc":"2.0","id":1.5,"Method":"x","result":{}}`, `{"jsonrpc":"2.0","id":1,"ID":1.5,"method":"ping"}`, `[1.5]`, `{`, ``} {
		if answer := mcp.RefuseID([]byte(message)); answer != nil {
			t.Errorf("%s: %s, expected nothing", message, answer)
		}
	}
}

// TestUnknownMethodOverHTTP checks that an unknown method of a session is answered with its id, and that the session remains.
func TestUnknownMethodOverHTTP(t *testing.T) {
	t.Parallel()
	p := newSite(t, sdktest.NewHub(t))
	post := func(session, body string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.h.Token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", legacy)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	begun, _ := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+legacy+
		`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	session := begun.Header.Get("Mcp-Session-Id")
	post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, id := range []string{`7`, `"seven"`} {
		resp, text := post(session, `{"jsonrpc":"2.0","id":`+id+`,"method":"foo/bar","params":{}}`)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" ||
			!strings.Contains(text, `"code":-32601`) || !strings.Contains(text, `"id":`+id) {
			t.Errorf("id %s: HTTP %d %s", id, resp.StatusCode, text)
		}
	}
	if resp, text := post(session, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`); resp.StatusCode != http.StatusBadRequest ||
		!strings.Contains(text, `"id":9007199254740993`) || !strings.Contains(text, `"code":-32600`) {
		t.Errorf("a large id: HTTP %d %s", resp.StatusCode, text)
	}
	if resp, text := post(session, `{"jsonrpc":"2.0","id":8,"method":"tools/call"}`); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("no params: HTTP %d %s", resp.StatusCode, text)
	}
	if resp, text := post(session, `{"jsonrpc":"2.0","id":9,"method":"ping"}`); resp.StatusCode != http.StatusOK || !strings.Contains(text, `"id":9`) {
		t.Errorf("ping afterwards: HTTP %d %s", resp.StatusCode, text)
	}
}
