//go:build linux

package blueprint_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
)

const (
	asker     = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" // the span of who asks
	described = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" // what metadata say
	inherited = "00-2af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" // what the runner was started with
)

// given runs the command report in a session, and returns its TRACEPARENT, or an empty string.
func (w *world) given(p parley.StartSessionParams) string {
	w.Helper()
	p.AgentName, p.TimeoutMs = "report", patience.Milliseconds()
	s, err := w.caller.StartSession(w.Context(), &p)
	if err != nil {
		w.Fatal(err)
	}
	var got seen
	if err := json.Unmarshal(w.completed(s).ResultData, &got); err != nil {
		w.Fatal(err)
	}
	found := ""
	for _, v := range got.Env {
		if value, ok := strings.CutPrefix(v, "TRACEPARENT="); ok {
			found += value
		}
	}
	return found
}

// A command gets its own span, otherwise that of the caller, otherwise that of the conversation,
// and never that of the runner's environment.
func TestTraceparentOfACommand(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	t.Setenv("TRACEPARENT", inherited)
	dir := t.TempDir()
	file(t, dir, "report", `"parameters_schema":{}`, "report")
	w := newWorld(t, dir)
	metadata := json.RawMessage(`{"traceparent":"` + described + `"}`)
	for want, p := range map[string]parley.StartSessionParams{
		"": {}, asker: {Traceparent: asker, Metadata: metadata}, described: {Metadata: metadata},
	} {
		if got := w.given(p); got != want {
			t.Errorf("the command was told %q, expected %q", got, want)
		}
	}
}

// A command is a span with its exit, and gets it in TRACEPARENT.
func TestSpanOfACommand(t *testing.T) {
	dir, r := t.TempDir(), &spantest.Recorder{}
	file(t, dir, "report", `"parameters_schema":{}`, "report")
	file(t, dir, "say", anyOf, "say")
	w := newWorld(t, dir)
	w.stop()
	if err := <-w.ended; err != nil {
		t.Fatal(err)
	}
	agent := blueprint.New(w.set, &blueprint.Options{URL: w.hub.URL, Processes: w.pool})
	w.run(parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		return agent.HandleTurn(parley.WithTracer(ctx, r), turn)
	}), nil)
	got := w.given(parley.StartSessionParams{Traceparent: asker})
	all := r.Spans()
	if len(all) != 1 || got != all[0].Traceparent || all[0].Parent != asker || all[0].Ends != 1 ||
		all[0].Attributes[spannames.AttrProcessExitCode] != 0 || !strings.HasPrefix(all[0].Name, spannames.SpanProcess) {
		t.Errorf("the command was told %q, and the spans are %+v", got, all)
	}
	w.failed(w.start("say", `{"code":3}`), "exit_code", "Exit code: 3")
	if all = r.Spans(); len(all) != 2 || all[1].Failure != "exit_code" || all[1].Ends != 1 ||
		all[1].Attributes[spannames.AttrProcessExitCode] != 3 {
		t.Errorf("the spans are %+v", all)
	}
}
