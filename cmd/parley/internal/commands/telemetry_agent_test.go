package commands

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/telemetry/telemetrytest"
	"github.com/parleyhub/parley/sdk"
)

// deskFiles are an LLM agent that is a script and asks before it uses its tool, and the command
// that is the tool: it says the span in which it runs.
var deskFiles = map[string]string{
	"desk.yaml": `{name: desk, type: agent, model: 'scripted:desk', instructions: Pay what is due., agents: [pay],
hitl_tools: [pay],
parameters_schema: {type: object, required: [order], properties: {order: {type: string}}}}`,
	"pay.yaml": `{name: pay, argv: [sh, -c, 'echo $TRACEPARENT'], params_via: env,
parameters_schema: {type: object, required: [order], properties: {order: {type: string}}}}`,
	"scripts/desk.yaml": `{turns: [{when: {tool: pay}, text: "${result.pay}"}, {when: {step: 1}, tool_calls: [{name: ` +
		`pay, arguments: {order: "${params.order}"}}]}]}`,
}

// TestAgentTrace: a client, an LLM agent, its model, an approval, its tool, the session of the tool
// and the process of that session are one tree. No span has any content, unless content is enabled.
func TestAgentTrace(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]bool{"agent.txt": false, "agent_content.txt": true} {
		t.Run(name, func(t *testing.T) { testAgentTrace(t, name, content) })
	}
}

func testAgentTrace(t *testing.T, name string, content bool) {
	c := telemetrytest.New(t)
	dir := t.TempDir()
	for file, text := range deskFiles {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, filepath.Join(dir, file), []byte(text))
	}
	// the span of the hub alone
	environ := []string{"PARLEY_DEV_TOKEN=plt_dev_trace",
		"TRACEPARENT=00-11111111111111111111111111111111-1111111111111111-01"}
	args := []string{"--dev", "--blueprints", dir, "--otlp-endpoint", c.URL}
	if content {
		args = append(args, "--otlp-content")
	}
	cmd, first, _ := clitest.StartHub(t, environ, args...)
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience) // before the hub is stopped that is stuck
	defer cancel()
	client, err := sdk.Dial(ctx, first.URL, &sdk.Options{Token: first.Token, AgentID: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	answer := runDesk(parley.WithTraceparent(ctx, clientTrace), t, client)
	client.Close()
	clitest.Terminate(t, cmd)

	process := c.Span(t, spannames.SpanProcess+"sh")
	if want := "00-" + process.TraceID + "-" + process.ID + "-01"; answer != want {
		t.Errorf("the command ran in the span %q, which is %q", answer, want)
	}
	ids := newTidier()
	tree := telemetrytest.Tree(t, c.Spans(), clientTrace, func(key, value string) string {
		switch key {
		case spannames.AttrGenAIResponseTimeToFirstChunk:
			return "(seconds)"
		case spannames.AttrAgentConfigHash:
			return "(a digest)"
		case spannames.AttrGenAIUsageInputTokens, spannames.AttrGenAIUsageOutputTokens: // of ids, some are longer
			return "(tokens)"
		case spannames.AttrGenAIInputMessages, spannames.AttrGenAIOutputMessages, spannames.AttrGenAISystemInstructions,
			spannames.AttrGenAIToolCallArguments, spannames.AttrGenAIToolCallResult:
			return "(content)"
		}
		return ids.tidy(key, value)
	})
	if !content && (strings.Contains(tree, "(content)") || strings.Contains(tree, "A-17")) {
		t.Errorf("content was told:\n%s", tree)
	}
	sameTrace(t, name, tree)
	if n := c.Metric(t, spannames.MetricGenAIOperationDuration).GetHistogram().DataPoints[0].Count; n != 2 {
		t.Errorf("%d calls of models were counted, expected 2", n)
	}
}

// runDesk lets the desk pay an order, approves its request, and returns its answer.
func runDesk(ctx context.Context, t *testing.T, client parley.Client) string {
	t.Helper()
	poll(ctx, t, "the agents", func() bool {
		agents, err := client.ListAgents(ctx, &parley.ListAgentsParams{})
		return err == nil && len(agents.Agents) >= len(deskFiles)-1
	})
	started, err := client.StartSession(ctx,
		&parley.StartSessionParams{AgentName: "desk", Mode: parley.ModeAsyncPoll, Parameters: []byte(`{"order":"A-17"}`)})
	if err != nil {
		t.Fatal(err)
	}
	var asked parley.Approval
	poll(ctx, t, "an approval", func() bool {
		list, err := client.ListApprovals(ctx, &parley.ListApprovalsParams{})
		if err != nil || len(list.Approvals) == 0 {
			return false
		}
		asked = list.Approvals[0]
		return true
	})
	if _, err := client.ResolveApproval(ctx,
		&parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID, Decision: parley.DecisionApproved}); err != nil {
		t.Fatal(err)
	}
	ended, err := client.GetSession(ctx, &parley.GetSessionParams{SessionID: started.SessionID, TimeoutMs: 10_000})
	if err != nil || ended.Status != parley.SessionCompleted || ended.Result == nil || ended.Result.ResultText == nil {
		t.Fatalf("the session is %+v, %v", ended, err)
	}
	return strings.TrimSpace(*ended.Result.ResultText)
}

// poll asks until something is there.
func poll(ctx context.Context, t *testing.T, what string, there func() bool) {
	t.Helper()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for !there() {
		select {
		case <-every.C:
		case <-ctx.Done():
			t.Fatalf("%s did not come", what)
		}
	}
}
