package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// The two eras of the protocol.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// ide is an MCP client with the seat alice.
type ide struct {
	t       *testing.T
	session *protocol.ClientSession
}

// newIDE connects a client to an adapter in memory.
func newIDE(t *testing.T, h *sdktest.Hub, agentID string, change func(*mcp.Options)) *ide {
	t.Helper()
	o := &mcp.Options{Connect: mcp.Client(h.Client(t, agentID)), Version: "test"}
	if change != nil {
		change(o)
	}
	return serveAs(t, mcp.NewServer(o), "test-ide", "", &protocol.ClientOptions{})
}

// patience is the timeout of tests for an event that must come. Only a program that hangs reaches
// it.
const patience = 3 * time.Minute

// serveAs connects a client with a name and an era. An empty era means the latest.
func serveAs(t *testing.T, s *mcp.Server, name, era string, o *protocol.ClientOptions) *ide {
	t.Helper()
	near, far := protocol.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx, far)
	}()
	session, err := protocol.NewClient(&protocol.Implementation{Name: name, Version: "1"}, o).Connect(ctx, near,
		&protocol.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		cancel()
		<-done
	})
	return &ide{t, session}
}

// call calls a tool.
func (i *ide) call(name string, args map[string]any) *protocol.CallToolResult {
	i.t.Helper()
	r, err := i.session.CallTool(i.t.Context(), &protocol.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		i.t.Fatalf("%s: %v", name, err)
	}
	return r
}

// must is call for tools that must succeed. It decodes the structured content.
func (i *ide) must(name string, args map[string]any, into any) (text string) {
	i.t.Helper()
	r := i.call(name, args)
	if r.IsError {
		i.t.Fatalf("%s %v: %s", name, args, schemaText(r))
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		i.t.Fatalf("%s: %v in %s", name, err, raw)
	}
	return schemaText(r)
}

// refused calls a tool that must refuse, with an error that has all the given words.
func (i *ide) refused(name string, args map[string]any, words ...string) (text string) {
	i.t.Helper()
	r := i.call(name, args)
	text = schemaText(r)
	if !r.IsError {
		i.t.Errorf("%s %v: not refused: %s", name, args, text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			i.t.Errorf("%s %v: the refusal does not have %q: %s", name, args, w, text)
		}
	}
	return text
}

func schemaText(r *protocol.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*protocol.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

type updates struct {
	Messages []struct {
		Seq      int64
		From     string
		Text     string
		CutChars int `json:"cut_chars"`
	}
	MaySpeak bool  `json:"may_speak"`
	SinceSeq int64 `json:"since_seq"`
	TimedOut bool  `json:"timed_out"`
	More     bool
	Status   string
	Next     string
}

type postResult struct {
	Seq, Turn int64
	SinceSeq  int64 `json:"since_seq"`
	Duplicate bool
}

// postAs posts a message with a client.
func postAs(t *testing.T, c parley.Client, id, text string, f parley.Finality) int64 {
	t.Helper()
	payload, _ := json.Marshal(parley.Message{Text: text})
	r, err := c.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: payload, Finality: f})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}
