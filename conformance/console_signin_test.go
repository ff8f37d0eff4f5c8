package conformance

import (
	"strings"
	"testing"
)

// TestConsoleSignsIn: a link signs in once and leaves no ticket in the history. A reload stays
// signed in.
func TestConsoleSignsIn(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "The case", nil, "ann:human", "bob:human")
	link := w.link(visitor{}, "")
	b := w.tab()
	b.visit(link)
	b.waitText("#who", "admin")
	b.waitText("main", "The case")
	if at := b.eval("location.href"); strings.Contains(at, "tkt_") {
		t.Errorf("the address still has the ticket: %s", at)
	}
	b.eval("location.reload() ?? ''")
	b.waitText("main", "The case")

	other := w.tab() // it has nothing kept
	other.expect("WebSocket connection")
	other.visit(link)
	other.waitText("parley-signin .problem", "used")
	other.fill("#token", "plt_no_token")
	other.click("parley-signin button[type=submit]")
	other.waitText("parley-signin .problem", "not valid")
}
