package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley/internal/hubproc"
)

// startSession starts a session as a participant and returns its id.
func (w *consoleWorld) startSession(as string, params map[string]any) string {
	w.t.Helper()
	var r struct{ SessionID string }
	if err := json.Unmarshal(w.call(as, "startSession", params), &r); err != nil {
		w.t.Fatal(err)
	}
	return r.SessionID
}

// createMany makes conversations of ann and bob.
func (w *consoleWorld) createMany(n int) {
	w.t.Helper()
	var made errgroup.Group
	made.SetLimit(32)
	for range n {
		made.Go(func() error {
			_, err := w.ask(hubproc.Token, "ann", "createConversation",
				map[string]any{"participants": []map[string]string{{"id": "ann", "kind": "human"}, {"id": "bob", "kind": "human"}}})
			return err
		})
	}
	if err := made.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// TestConsoleAgents: the view shows the parameters of an agent, its runner, its sessions and
// failures, and the loss of its runner. It shows in how many conversations.
func TestConsoleAgents(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	dir := t.TempDir()
	blueprint, err := json.Marshal(map[string]any{
		"name": "work", "description": "Works " + hostile, "params_via": "stdin", "parameters_schema": map[string]any{
			"type": "object", "properties": map[string]any{"how": map[string]any{"type": "string", "enum": []string{"badly",
				"slowly"}}},
		},
		"argv": []string{"sh", "-c", `case "$(cat)" in *badly*) echo "it broke" >&2; exit 3;; *) exec sleep 60;; esac`},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "work.json"), blueprint, 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.open(visitor{}, "/agents")
	b.waitText("parley-agents", "No agent is here")
	run := background(t, w.hub, string(program), "run", "--blueprints", dir, "--runner", "desk", "--label", "room=4")
	b.waitText("tr[data-name=work]", "online")
	b.waitText("tr[data-name=work]", "Works "+hostile)
	b.waitText("tr[data-name=work]", "desk")
	b.waitText("tr[data-name=work] .running", "0")

	slow := w.startSession("admin", map[string]any{"agentName": "work", "parameters": map[string]any{"how": "slowly"},
		"mode": "async_poll"})
	b.waitText("tr[data-name=work] .running", "1")
	bad := w.startSession("admin", map[string]any{"agentName": "work", "parameters": map[string]any{"how": "badly"},
		"mode": "async_poll"})
	b.waitText("tr[data-name=work] .failed", "1")
	b.waitText(`tr[data-name=work] .load`, "1 of 16 turns") // the slow one
	b.waitText(`tr[data-executor=desk]`, "room: 4")
	b.waitText(`tr[data-executor=desk]`, "work")
	b.waitText(`tr[data-executor=desk] .load`, "1 of 16")
	b.waitText("#hub-counts", "This hub")
	if bound := b.text(".bound"); bound != "NONE" {
		t.Errorf("all are counted, and the page says %q", bound)
	}

	b.click("tr[data-name=work] a.strong")
	b.until(`location.hash === "#/agents/work"`)
	b.waitText("section[aria-labelledby=agent-running] li", "running")
	b.waitText("section[aria-labelledby=agent-failed] li", "failed")
	for section, id := range map[string]string{"agent-running": slow, "agent-failed": bad} {
		b.until(fmt.Sprintf(`document.querySelector("section[aria-labelledby=%s] a").hash === "#/c/%s"`, section, id))
	}
	b.waitText("section[aria-labelledby=agent-failed] .why-failed", "exit code 3")
	b.waitText("section[aria-labelledby=agent-failed] .why-failed", "it broke")
	b.waitText("dd.load", "1 of 16 turns")
	b.waitText("details", "What it takes")
	b.waitText("details pre", `"slowly"`)
	b.waitText("dl.facts", "room: 4")

	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.createMany(500) // so that the sessions are not among the newest 500
	b.route("/agents")
	b.wait("tr[data-name=work]")
	b.reload()
	b.waitText(".bound", "among the newest 500 conversations")
	b.waitText("tr[data-name=work] .failed", "0")
	b.route("/agents/work") // here only its own are looked at
	b.waitText("section[aria-labelledby=agent-failed] li", "failed")

	for end := time.Now().Add(patience); strings.Contains(string(w.call("admin", "listAgents", map[string]any{})),
		`"online":true`); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) { // a runner may come back for 30 s
			t.Fatal("the agent of a runner that was killed is online")
		}
	}
	b.waitText("dl.facts", "offline")
	b.route("/agents")
	b.waitGone(`tr[data-executor=desk]`)
	b.waitText("tr[data-name=work]", "offline")
}
