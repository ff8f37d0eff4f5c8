package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/parleyhub/parley/internal/hubproc"
)

// TestConsoleDownloads: a file of a message is there with its name, size and type, and what the
// browser keeps of it has the same bytes, whatever it is called. It is never shown in the page.
func TestConsoleDownloads(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("files", "", nil, "ann:human", "bob:human")
	data := bytes.Repeat([]byte("<script>top.owned = 1</script>\x00\xff"), 3000)
	var a map[string]any
	if err := json.Unmarshal(w.call("ann", "putAttachment", map[string]any{"conversationId": "files", "data": data,
		"name": "a <b>.html", "mediaType": "text/html"}), &a); err != nil {
		t.Fatal(err)
	}
	w.call("ann", "sendMessage", map[string]any{"conversationId": "files", "finality": "turn",
		"payload": map[string]any{"attachments": []any{map[string]any{"sha256": a["sha256"], "name": "a <b>.html"}}}})
	dir := t.TempDir()
	if _, err := chromedp.CallBrowser(w.browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
		BrowserContextID: chromedp.FromContext(w.browser).BrowserContextID,
	}); err != nil {
		t.Fatal(err)
	}
	b := w.open(person("bob"), "/c/files")
	b.waitText(".row.message .files", "a <b>.html")
	b.waitText(".row.message .files", "text/html")
	b.waitText(".row.message .files", "94 KiB")
	clickText(b, ".row.message .files button", "Download")
	var got []byte
	for end := time.Now().Add(patience); len(got) < len(data) &&
		time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		names, _ := filepath.Glob(filepath.Join(dir, "*.html"))
		if len(names) == 1 {
			got, _ = os.ReadFile(names[0])
		}
	}
	if !bytes.Equal(got, data) {
		t.Errorf("the browser has kept %d bytes, want %d", len(got), len(data))
	}
	if b.eval("location.hash") != "#/c/files" || b.eval("typeof owned") != "undefined" {
		t.Error("the file was shown")
	}
}

// TestConsoleCallbacks: what a session calls back with leads to where it was started, and from
// there to the callback.
func TestConsoleCallbacks(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "", nil, "ann:human", "bob:human")
	worker, err := hubproc.Dial(w.hub.URL, "worker", func(*hubproc.Frame[json.RawMessage]) {}, hubproc.CallerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if err := worker.Call("registerExecutor", map[string]any{"executorId": "w1", "agents": []string{"worker"}},
		nil); err != nil {
		t.Fatal(err)
	}
	var s struct{ SessionID string }
	if err := json.Unmarshal(w.call("ann", "startSession", map[string]any{"agentName": "worker", "prompt": "Count.",
		"mode": "async_callback", "parentConversationId": "case"}), &s); err != nil {
		t.Fatal(err)
	}
	b := w.open(person("bob"), "/c/case")
	b.waitText(`.row.system[data-seq="2"] header .chip`, "running")
	var c struct{ ClaimID string }
	if err := worker.Call("claimTurn", map[string]any{"conversationId": s.SessionID, "turn": 2}, &c); err != nil {
		t.Fatal(err)
	}
	if err := worker.Call("sendMessage", map[string]any{"conversationId": s.SessionID, "claimId": c.ClaimID, "payload": map[string]any{"result": map[string]any{"result_type": "agent", "result_text": "One, two, three."}},
		"finality": "conversation"}, nil); err != nil {
		t.Fatal(err)
	}
	b.waitText(".row.message .callbacks", "One, two, three.")
	b.until(fmt.Sprintf(`document.querySelector(".callbacks a").getAttribute("href") === "#/c/" + %q`, s.SessionID))
	at := b.eval(`document.querySelector(".callbacks").closest(".row").dataset.seq`)
	clickText(b, ".callbacks button", "started at #2")
	b.wait(`.row.current[data-seq="2"]`)
	clickText(b, `.row[data-seq="2"] button`, "called back at #"+at)
	b.wait(fmt.Sprintf(`.row.current[data-seq=%q]`, at))
}

// TestConsoleWakes: of an event that woke an agent the timeline says whom and leads there, and the
// panel says by which selector; of another one it says why not.
func TestConsoleWakes(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	runBlueprint(w, map[string]any{
		"name": "search", "argv": []string{"echo", "found"}, "description": "Looks things up.", "params_via": "stdin",
		"parameters_schema": map[string]any{"type": "object", "properties": map[string]any{"query": map[string]any{"type": "string"}}},
		"subscriptions": map[string]any{"selectors": []any{map[string]any{
			"schema_name": "tool.request.v1", "role": "trigger", "context_match": []any{map[string]any{"path": "$.tool", "op": "eq", "value": "search"}},
		}}},
	})
	w.create("case", "", map[string]any{"policy": map[string]any{"kind": "triggers"}, "startsWith": "ann"}, "ann:human",
		"search:tool")
	note := func(tool string) {
		w.call("ann", "sendNote", map[string]any{"conversationId": "case",
			"payload": map[string]any{"schema": "tool.request.v1", "data": map[string]any{"tool": tool, "input": map[string]any{"query": "x"}}}})
	}
	note("other")          // 2
	knows := func() bool { // the answer names search at once, and its selectors once its runner has registered
		answer := w.call("admin", "explainTriggers", map[string]any{"conversationId": "case", "seq": 2})
		return strings.Contains(string(answer), `"selector":0`)
	}
	for end := time.Now().Add(patience); !knows(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody knows what search subscribes to")
		}
	}
	note("search") // 3
	b := w.open(visitor{}, "/c/case")
	b.waitText(".row.system .sentence", "#3 wakes search (selector 0, session ses_")
	b.waitText(".row.system .sentence", "search noted tool.response.v1")
	b.eval(`[...document.querySelectorAll('.row[data-seq="3"] button')].find(b => b.textContent.startsWith("wakes: #")).click() ?? ''`)
	b.waitText(".row.current .sentence", "wakes search")
	explain(b, "3")
	b.waitText("parley-why h3", "Whom event 3 wakes")
	b.waitText(`parley-why [aria-label="Whom it wakes"] .chip`, "woken")
	b.until(`document.querySelector('parley-why [aria-label="Whom it wakes"] a').getAttribute("href").startsWith("#/c/ses_")`)
	b.waitText(`parley-why [aria-label="Whom it wakes"] .rules`, "trigger: matched")
	explain(b, "2")
	b.waitText(`parley-why [aria-label="Whom it wakes"] .chip`, "not woken")
	b.waitText(`parley-why [aria-label="Whom it wakes"] .rules`, "trigger: not matched")
}

// explain asks in the menu of an event why.
func explain(b *tab, seq string) {
	b.t.Helper()
	row := fmt.Sprintf(".row[data-seq=%q]", seq)
	b.click(row + " .dots")
	clickText(b, row+" .menu button", "Explain")
	b.waitText("parley-why h2", "after event "+seq)
}
