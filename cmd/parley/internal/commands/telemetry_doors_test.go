package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/telemetry/telemetrytest"
	"github.com/parleyhub/parley/sdk"
)

// frontFiles are an LLM agent that is a script and looks a case up, and the command with which it
// does.
var frontFiles = map[string]string{
	"front.yaml": `{name: front, type: agent, model: 'scripted:front', instructions: canary-instructions, agents: [look]}`,
	"look.yaml": `{name: look, argv: [sh, -c, 'echo canary-result $PARAM_CASE'], params_via: env,
parameters_schema: {type: object, required: [case], properties: {case: {type: string}}}}`,
	"scripts/front.yaml": `{turns: [{when: {tool: look}, text: "canary-answer ${result.look}"}, {when: {step: 1}, ` +
		`tool_calls: [{name: look, arguments: {case: canary-argument}}]}]}`,
}

// frontHub is a hub with the agent front behind all its doors.
type frontHub struct {
	*testing.T
	first clitest.FirstLine
	cmd   *exec.Cmd
}

const frontToken = "plt_canary_token"

func newFrontHub(t *testing.T, environ []string, args ...string) *frontHub {
	t.Helper()
	dir := t.TempDir()
	for file, text := range frontFiles {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, filepath.Join(dir, file), []byte(text))
	}
	args = append([]string{"--dev", "--mcp", "--a2a", "--a2a-agent", "front", "--blueprints", dir}, args...)
	h := &frontHub{T: t}
	h.cmd, h.first, _ = clitest.StartHub(t, append(environ, cli.EnvDevToken+"="+frontToken), args...)
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	client, err := sdk.Dial(ctx, h.first.URL, &sdk.Options{Token: frontToken, AgentID: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	poll(ctx, t, "the agents", func() bool {
		agents, err := client.ListAgents(ctx, &parley.ListAgentsParams{})
		return err == nil && len(agents.Agents) >= 2
	})
	return h
}

func (h *frontHub) origin() string { return "http://" + h.first.Listening }

// start calls the agent by a tool of MCP, in a span, and waits for its end.
func (h *frontHub) start(s *protocol.ClientSession, span string) {
	h.Helper()
	p := &protocol.CallToolParams{Name: "start_agent_session",
		Arguments: map[string]any{"agent_name": "front", "prompt": "canary-prompt", "wait_seconds": 20}}
	if span != "" {
		p.Meta = protocol.Meta{"traceparent": span, "tracestate": "vendor=canary-state"}
	}
	r, err := s.CallTool(h.Context(), p)
	if err != nil || r.IsError {
		h.Fatalf("%v %+v", err, r)
	}
	if b, err := json.Marshal(r.StructuredContent); err != nil ||
		!bytes.Contains(b, []byte("canary-answer canary-result canary-argument")) {
		h.Fatalf("the agent has answered %s, %v", b, err)
	}
}

// send sends the agent a message by A2A and returns the answer of the hub.
func (h *frontHub) send(metadata, header string) string {
	h.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-1","role":"ROLE_USER",` +
		`"parts":[{"text":"canary-prompt"}]` + metadata + `}}}`
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.origin()+"/a2a/front", strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Authorization", "Bearer "+frontToken)
	if header != "" {
		r.Header.Set("traceparent", header)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("canary-answer")) {
		h.Fatalf("%d %s, %v", resp.StatusCode, answer, err)
	}
	return string(answer)
}

// shape is a tree without attributes.
func shape(t *testing.T, spans []telemetrytest.Span, root string) string {
	t.Helper()
	return telemetrytest.Tree(t, spans, root, func(string, string) string { return "" })
}

// frontTree is what the agent does below a door.
const frontTree = `turn front [internal, parley]
  invoke_agent front [internal, parley]
    chat front [client, parley]
    execute_tool look [internal, parley]
      turn look [internal, parley]
        invoke_agent look [internal, parley]
          parley.process sh [internal, parley]
    chat front [client, parley]
`

// below returns a tree below the lines of its parents.
func below(parents ...string) string {
	var b strings.Builder
	indent := ""
	for _, p := range parents {
		b.WriteString(indent + p + "\n")
		indent += "  "
	}
	for line := range strings.Lines(frontTree) {
		b.WriteString(indent + line)
	}
	return b.String()
}

// sent is what comes of a message of A2A that begins a conversation.
var sent = strings.Replace(below("parley.a2a SendMessage [server, parley]", "parley.sendMessage [server, parley]"),
	"\n", "\n  parley.createConversation [server, parley]\n", 1)

// noCanary fails if the collector received private content.
func noCanary(t *testing.T, c *telemetrytest.Collector) {
	t.Helper()
	if all := fmt.Sprint(c.Spans(), c.Resource(), c.Metrics()); strings.Contains(all, "canary") {
		i := strings.Index(all, "canary")
		t.Errorf("the collector was told %q", all[max(0, i-200):min(len(all), i+100)])
	}
}

// TestDoorTraces: what a client of MCP or A2A asks for in a span is one tree below it, through
// turn, attempt, tool and session, and nothing of what was said is in it.
func TestDoorTraces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask  func(h *frontHub)
		want string
	}{
		"mcp 2026-07-28": {func(h *frontHub) {
			h.start(clitest.OpenMCPSession(h.T, h.origin(), frontToken, "2026-07-28"), clientTrace)
		}, below("parley.mcp tools/call [server, parley]", "parley.startSession [server, parley]")},
		"mcp 2025-11-25": {func(h *frontHub) {
			h.start(clitest.OpenMCPSession(h.T, h.origin(), frontToken, "2025-11-25"), clientTrace)
		}, below("parley.mcp tools/call [server, parley]", "parley.startSession [server, parley]")},
		"a2a metadata": {func(h *frontHub) {
			h.send(`,"metadata":{"traceparent":"`+clientTrace+`","tracestate":"vendor=canary-state"}`, "")
		}, sent},
		"a2a header": {func(h *frontHub) { h.send("", clientTrace) }, sent},
	} {
		t.Run(name, func(t *testing.T) {
			collector := telemetrytest.New(t)
			h := newFrontHub(t, nil, "--otlp-endpoint", collector.URL)
			c.ask(h)
			clitest.Terminate(t, h.cmd)
			if got := shape(t, collector.Spans(), clientTrace); got != c.want {
				t.Errorf("told\n%swant\n%s", got, c.want)
			}
			noCanary(t, collector)
			child := collector.Span(t, spannames.SpanTurn+"look").Attributes[spannames.AttrGenAIConversationID]
			if got := collector.Span(t,
				spannames.SpanExecuteTool+"look").Attributes[spannames.AttrChildConversationID]; got == nil ||
				got != child {
				t.Errorf("the tool has started %v, which is %v", got, child)
			}
			if strings.HasPrefix(name, "mcp") {
				own := collector.Span(t, spannames.SpanTurn+"front").Attributes[spannames.AttrGenAIConversationID]
				if got := collector.Span(t, spannames.SpanCall+
					methods.StartSession).Attributes[spannames.AttrChildConversationID]; got == nil || got != own {
					t.Errorf("the call has started %v, which is %v", got, own)
				}
			}
		})
	}
}

// TestStdioTrace: parley mcp in a separate process exports its spans too, between those of the
// client and those of the hub.
func TestStdioTrace(t *testing.T) {
	t.Parallel()
	collector := telemetrytest.New(t)
	h := newFrontHub(t, nil, "--otlp-endpoint", collector.URL)
	cmd := exec.Command("parley", "mcp", "--otlp-endpoint", collector.URL)
	cmd.Env = append(os.Environ(), cli.EnvURL+"="+h.first.URL, cli.EnvToken+"="+frontToken)
	s, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil).Connect(t.Context(),
		&protocol.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.start(s, clientTrace)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clitest.Terminate(t, h.cmd)
	if got, want := shape(t, collector.Spans(), clientTrace),
		below("parley.mcp tools/call [server, parley-mcp]", "parley.startSession [server, parley]"); got != want {
		t.Errorf("told\n%swant\n%s", got, want)
	}
	noCanary(t, collector)
}

// usualCollector counts connections to the usual address of a collector. It counts nothing while
// another program listens there.
func usualCollector(t *testing.T) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	l, err := net.Listen("tcp", "localhost:4318")
	if err != nil {
		t.Logf("who dials a collector is not looked at: %v", err)
		return &n
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		done.Wait()
	})
	return &n
}

// TestNoTelemetry: a hub without an endpoint connects to no collector, and events of callers
// without a span have no traceparent.
func TestNoTelemetry(t *testing.T) {
	t.Parallel()
	dialed := usualCollector(t)
	h := newFrontHub(t, []string{"TRACEPARENT=" + clientTrace})
	h.start(clitest.OpenMCPSession(t, h.origin(), frontToken, "2026-07-28"), "")
	h.send("", "")
	client, err := sdk.Dial(t.Context(), h.first.URL, &sdk.Options{Token: frontToken, AgentID: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.ListConversations(t.Context(), &parley.ListConversationsParams{Limit: 100})
	if err != nil || len(list.Conversations) < 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range list.Conversations {
		page, err := client.Tail(t.Context(), &parley.TailParams{ConversationID: s.ConversationID})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if e.Traceparent != "" {
				t.Errorf("%s, event %d was said in %s", s.ConversationID, e.Seq, e.Traceparent)
			}
		}
	}
	client.Close()
	clitest.Terminate(t, h.cmd)
	if n := dialed.Load(); n > 0 {
		t.Errorf("a collector was dialed %d times", n)
	}
}
