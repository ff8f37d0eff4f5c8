package conformance

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

// consoleCommand returns the link that 'parley console' prints for a token.
func (w *consoleWorld) consoleCommand(token string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), string(program), "console")
	cmd.Env = append(os.Environ(), "PARLEY_URL="+w.hub.URL, "PARLEY_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("parley console: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// tokenFor makes a token of ann that lasts so long.
func (w *consoleWorld) tokenFor(ms int64) string {
	w.t.Helper()
	var r struct{ Token string }
	if err := json.Unmarshal(w.call("admin", "createToken", map[string]any{"agentId": "ann", "scopes": []string{"read",
		"write"}, "expiresInMs": ms}), &r); err != nil {
		w.t.Fatal(err)
	}
	return r.Token
}

// keptToken is the one that the tab keeps for its reloads.
func (b *tab) keptToken() string {
	b.t.Helper()
	return b.eval("JSON.parse(sessionStorage.getItem('parley.token'))?.token ?? ''")
}

const sessionOver = "The session is over: its token has ended, or was revoked. Sign in again."

// TestConsoleSignsInForLess: a link of a token that lasts for less than the page asks for signs in,
// for as long as that token lasts. Then the page says so, and asks for another.
func TestConsoleSignsInForLess(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "The case", nil, "ann:human", "bob:human")
	hour := w.tab()
	hour.visit(w.consoleCommand(w.tokenFor(60 * 60 * 1000)))
	hour.waitText("#who", "ann")
	hour.waitText("main", "The case")

	b := w.tab()
	b.expect("WebSocket connection")
	b.visit(w.consoleCommand(w.tokenFor(12_000)))
	b.waitText("#who", "ann")
	kept := b.keptToken()
	b.waitText("parley-signin .problem", sessionOver)
	if _, err := w.ask(kept, "", "ping", map[string]any{}); !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("the token of the page is good for longer than that of the link: %v", err)
	}
	if again := b.keptToken(); again != "" {
		t.Error("the token that has ended is kept")
	}
	b.waitGone("#signout")
}

// TestConsoleSignsOut: a sign-out revokes the token that the page created, and no other.
func TestConsoleSignsOut(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "The case", nil, "ann:human", "bob:human")
	own := w.token(visitor{Agent: "ann", Scopes: []string{"read", "write"}})
	b := w.tab()
	b.expect("WebSocket connection")
	b.visit(w.consoleCommand(own))
	b.waitText("main", "The case")
	made := b.keptToken()
	if made == own || !strings.HasPrefix(made, "plt_") {
		t.Fatalf("the page keeps %q", made)
	}
	b.reload() // the page still knows that it created the token
	b.waitText("main", "The case")
	b.click("#signout")
	b.wait("parley-signin")
	if _, err := w.ask(made, "", "ping", map[string]any{}); !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("the token of who has signed out is still good: %v", err)
	}
	if kept := b.keptToken(); kept != "" {
		t.Error("the token is kept")
	}
	if text := b.text("main"); strings.Contains(text, "The case") {
		t.Errorf("the page shows %q", text)
	}
	b.eval("location.reload() ?? ''")
	b.wait("parley-signin")

	b.fill("#token", own) // it was given to the page, and is used elsewhere too
	b.click("parley-signin button[type=submit]")
	b.waitText("main", "The case")
	b.click("#signout")
	b.wait("parley-signin")
	if _, err := w.ask(own, "", "ping", map[string]any{}); err != nil {
		t.Errorf("the token that was typed: %v", err)
	}
}

// TestConsoleSignsOutAlone: without the hub, an unread view is loaded later. A sign-out reports
// that the token is still valid.
func TestConsoleSignsOutAlone(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	b := w.open(visitor{Agent: "ann", Scopes: []string{"read"}}, "")
	b.wait("parley-list")
	b.expect("WebSocket connection")
	b.expect("ERR_CONNECTION_REFUSED")
	w.hub.Kill(t)
	b.waitText("#state", "away")
	b.route("/approvals") // it was not read yet
	b.waitText("main", "when the hub is back")
	w.restart()
	b.wait("parley-approvals")
	w.hub.Kill(t)
	b.waitText("#state", "away")
	b.press("?")
	b.wait("#help")
	b.eval("document.getElementById('signout').click() ?? ''")
	b.waitGone("#help")
	b.waitGone("#state")
	b.waitText("parley-signin .problem", "The hub could not be told")
	if kept := b.keptToken(); kept != "" {
		t.Error("the token is kept")
	}
}
