package conformance

import (
	"fmt"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// TestConsoleOutlivesTheHub: the hub is killed and started again under an open page, three times,
// while people continue speaking; the page loses nothing and has nothing twice.
func TestConsoleOutlivesTheHub(t *testing.T) {
	t.Parallel()
	addr, data := hubproc.LowAddress(t), t.TempDir()
	start := func() *hubproc.Hub { return program.Start(t, data, "--listen", addr) }
	w := &consoleWorld{t: t, hub: start(), browser: newBrowser(t)}
	id := w.create("case", "Killed and started again", nil, "ann:human", "bob:human")
	for i := range 30 {
		w.say([]string{"ann", "bob"}[i%2], id, fmt.Sprintf("before %d", i))
	}
	b := w.open(person("ann"), "/c/case")
	b.expect("WebSocket connection") // the browser says so of each attempt while the hub is away
	b.wait(`.row[data-seq="31"]`)
	said := 30
	for round := range 3 {
		w.hub.Kill(t)
		b.until(`document.body.dataset.hub === "away"`)
		b.wait("#state")
		w.hub = start()
		for range 5 { // the page may not be back yet
			w.say([]string{"ann", "bob"}[said%2], id, fmt.Sprintf("round %d", round))
			said++
		}
		b.until(`document.body.dataset.hub === "open"`)
		b.wait(fmt.Sprintf(`.row[data-seq="%d"]`, said+1))
		sameSeqs(t, w, "ann", id, b)
		if got := b.eval(`(s => s.length === new Set(s).size)([...document.querySelectorAll(".rows .row")].map(e => e.dataset.seq))`); got != "true" {
			t.Error("a row is in the page twice")
		}
	}
	if said%2 == 1 {
		w.say("bob", id, "And you?")
	}
	speak(b, "I am still here.")
	b.waitText(".row.message .body", "I am still here.")
	sameSeqs(t, w, "ann", id, b)
}
