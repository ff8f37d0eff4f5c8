package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConsoleAxe lets axe-core look at every view, in both themes: it finds no serious fault of
// accessibility.
func TestConsoleAxe(t *testing.T) {
	t.Parallel()
	dir, err := installed["axe"]()
	if err != nil {
		t.Log(err)
		leaveOut(t, "npm, or what testdata/axe/package.json names,")
	}
	axe, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	w := newConsoleWorld(t)
	a := newAsker(w, "ask", "ann:human", "bot:agent")
	a.ask("one", "bot wants to run refund", map[string]any{"tool": "refund", "arguments": map[string]any{"amount": 120},
		"injected_args": map[string]any{"reason": "lost"}})
	w.call("bot", "sendTrace", map[string]any{"conversationId": "ask", "claimId": a.claimID,
		"payload": map[string]any{"kind": "plan", "text": "first this, then that"}})
	w.call("ann", "putAttachment", map[string]any{"conversationId": "ask", "data": []byte("the file"), "name": "a.txt",
		"mediaType": "text/plain"})
	id := w.create("talk", "The talk", nil, "ann:human", "ben:human")
	w.say("ann", id, "one")
	w.say("ben", id, "two")
	w.call("ann", "forkConversation", map[string]any{"conversationId": id, "seq": 2, "forkId": "fork"})
	w.say("ben", "fork", "another two")
	w.create("done", "", nil, "ann:human", "ben:human")
	w.call("ann", "closeConversation", map[string]any{"conversationId": "done"})
	shared := filepath.Join(t.TempDir(), "shared.html")
	share(t, w, id, shared)
	runBlueprint(w, map[string]any{"name": "report", "argv": []string{"echo", "done"}, "description": "Writes a report.",
		"params_via": "stdin", "parameters_schema": map[string]any{
			"type": "object", "required": []string{"title"}, "properties": map[string]any{
				"title": map[string]any{"type": "string"}, "kind": map[string]any{"enum": []any{"short", 2}},
				"tags":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
				"style": map[string]any{"type": "object", "properties": map[string]any{"bold": map[string]any{"type": "boolean"}}},
				"odd":   map[string]any{},
			}}})

	b := w.open(visitor{}, "/approvals")
	for _, v := range []struct{ name, route, ready, press string }{
		{"list", "/", "a[href^='#/c/']", ""},
		{"conversation", "/c/talk", "parley-composer button[type=submit]", ""},
		{"why", "/c/ask", "parley-composer button[type=submit]", "Why"},
		{"closed", "/c/done", "parley-composer .guidance", ""},
		{"fork", "/c/fork", "parley-composer button[type=submit]", "Fork…"},
		{"approvals", "/approvals", ".approval", "Edit the arguments"},
		{"agents", "/agents", "main h1", ""},
		{"agent", "/agents/report", "main h1", ""},
		{"start", "/start/report", ".start-form", "Add"},
		{"compare", "/compare/talk/fork", "main h1", ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			b.t = t
			defer func() { b.t = w.t }()
			b.eval("document.querySelector('main').firstElementChild?.setAttribute('data-old', '') ?? ''")
			b.route(v.route)
			b.until("!document.querySelector('main > [data-old]')")
			b.wait(v.ready)
			if v.press != "" {
				b.button(v.press)
			}
			b.accessible(string(axe))
			b.eval("document.querySelector('dialog[open]')?.close() ?? ''")
		})
	}
	t.Run("sign-in", func(t *testing.T) {
		b := w.tab()
		b.t = t
		defer func() { b.t = w.t }()
		b.visit(w.hub.HTTP() + "/console")
		b.wait("parley-signin")
		b.accessible(string(axe))
	})
	t.Run("shared", func(t *testing.T) {
		b := w.tab()
		b.t = t
		defer func() { b.t = w.t }()
		b.visit("file://" + shared)
		b.wait("#verdict.whole")
		b.accessible(string(axe))
	})
}

// accessible fails the test for each serious or critical fault that axe finds, in the light theme
// and in the dark one.
func (b *tab) accessible(axe string) {
	b.t.Helper()
	b.eval("typeof globalThis.axe === 'undefined' && (" + "(() => {" + axe + "\n})()" + ") || ''")
	for _, theme := range []string{"light", "dark"} {
		b.eval(fmt.Sprintf(`(() => {
			document.documentElement.dataset.theme = %q;
			window.found = '';
			globalThis.axe.run(document, { resultTypes: ['violations'] }).then((r) => { window.found = JSON.stringify(r.violations.map((v) => ({
				id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? n.all[0]?.message ?? '')) }))); },
				(err) => { window.found = JSON.stringify([{ id: 'axe', impact: 'critical', help: String(err), nodes: [] }]); });
			return '';
		})()`, theme))
		b.until("window.found !== ''")
		var found []struct {
			ID, Impact, Help string
			Nodes            []string
		}
		if err := json.Unmarshal([]byte(b.eval("window.found")), &found); err != nil {
			b.t.Fatal(err)
		}
		for _, f := range found {
			about := fmt.Sprintf("%s (%s, %s): %s\n  %s", f.ID, f.Impact, theme, f.Help, strings.Join(f.Nodes, "\n  "))
			if f.Impact == "serious" || f.Impact == "critical" {
				b.t.Error(about)
			} else {
				b.t.Log(about)
			}
		}
	}
	b.eval("delete document.documentElement.dataset.theme && ''")
}
