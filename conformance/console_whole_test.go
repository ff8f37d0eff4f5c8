package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// desk is a scripted LLM agent that lets another agent pay a refund after an approval.
var desk = map[string]string{
	"desk.yaml": `type: agent
name: desk
description: Has refunds paid.
model: scripted:desk
instructions: You are the refund desk of a shop.
agents: [pay]
hitl_tools: [pay]
injected_tool_args: {why: One sentence for whoever has to approve.}
max_steps: 3
`,
	"scripts/desk.yaml": `turns:
  - when: {tool: pay, result: has rejected it}
    text: "Nothing was paid."
  - when: {tool: pay}
    text: "120 euros were paid for A-17."
  - text: I have it paid.
    tool_calls: [{name: pay, arguments: {order: A-17, amount: 120, why: The parcel never came.}}]
    usage: {prompt_tokens: 510, completion_tokens: 38}
`,
	"pay.yaml": `name: pay
description: Pays a refund.
argv: [echo, "paid"]
params_via: stdin
parameters_schema:
  type: object
  required: [order, amount]
  properties:
    order: {type: string}
    amount: {type: number, maximum: 500}
`,
}

// blueprints writes files of agents, and returns their directory.
func blueprints(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestConsoleWholeConversation: two people in two browsers, who share nothing but the hub, hold a
// conversation with an agent from the first word to the last. The agent asks before it pays: one
// answers in the inbox, the other sees it, and both find in the timeline what was asked and
// answered, what it ran, and with which configuration the agent did it.
func TestConsoleWholeConversation(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t, "--blueprints", blueprints(t, desk))
	w.create("refund", "A refund for A-17", nil, "ann:human", "bob:human", "desk:agent")
	scopes := []string{"read", "write", "create", "approve"}
	ann := w.openApart(visitor{Agent: "ann", Scopes: scopes}, "/c/refund")
	bob := w.openApart(visitor{Agent: "bob", Scopes: scopes}, "/c/refund")

	speak(ann, "The parcel of A-17 never came.")
	bob.waitText(".row.message .body", "never came")
	speak(bob, "Then we pay it back.")
	for _, b := range []*tab{ann, bob} {
		b.waitText(".row.system .sentence", "desk asks for approval")
		b.waitText(".standing", "its time stands still")
		b.waitText(".row.system .chip.status-pending", "pending")
	}
	if ann.eval("document.querySelector('parley-composer button[type=submit]').disabled") != "true" {
		t.Error("ann may speak while the desk has the floor")
	}
	bob.waitText("nav a[data-nav=approvals] .waiting", "1")
	clickText(ann, ".row.system a", "Answer it in the inbox")
	ann.waitText(".approval", "The parcel never came.") // why it asks
	ann.waitText(".approval pre", "A-17")
	ann.labelled("Comment", "It is due.")
	ann.button("Approve", ".approval")
	ann.waitText(".approval .approval-said", "ann has approved it")
	ann.eval("history.back() ?? ''")

	for _, b := range []*tab{ann, bob} {
		b.waitText(".row.message .body", "120 euros were paid for A-17.")
		b.waitText(".row.system .chip.status-approved", "approved")
		b.waitText(".row.system .sentence", "The approval was approved by ann: It is due.")
		b.waitText(".row.system .sentence", "desk started pay")
		// how long the turn took; what it used is in traces, which they do not see
		b.until(`/^([0-9]+m?s|[0-9]+m [0-9]+s)$/.test(document.querySelector("h3.turn .took")?.textContent)`)
		b.waitGone("nav .waiting")
	}
	bob.eval(`[...document.querySelectorAll(".row.system button")].find(b => b.textContent.startsWith("answered at #")).click() ?? ''`)
	bob.waitText(".row.current .sentence", "The approval was approved by ann")

	speak(ann, "Thank you, desk.")
	bob.waitText(".row.message .body", "Thank you, desk.")
	bob.until("!document.querySelector('parley-composer button[type=submit]').disabled")
	bob.eval(`(() => { const s = document.querySelector('#speak-finality'); s.value = 'conversation'; s.dispatchEvent(new Event('change', { bubbles: true })); return ''; })()`)
	speak(bob, "That is all.")
	for _, b := range []*tab{ann, bob} {
		b.waitText(".ending", "Closed: completed")
		b.waitText("parley-composer .guidance", "The conversation is closed.")
	}
	if a, b := ann.eval(seqsShown), bob.eval(seqsShown); a != b {
		t.Errorf("ann sees %s, bob %s", a, b)
	}

	t.Run("config", func(t *testing.T) {
		b := w.open(visitor{}, "/c/refund")
		b.t = t
		defer func() { b.t = w.t }()
		b.until(`/^([0-9]+m?s|[0-9]+m [0-9]+s) · [1-9][0-9,]* tokens in, [1-9][0-9,]* out$/.test(document.querySelector("h3.turn .took")?.textContent)`)
		// it is the only turn of an agent
		b.waitText(".facts-line", b.eval(`document.querySelector("h3.turn .took").textContent.split(" · ")[1]`))
		b.waitText(".row .asked", "The parcel never came.")
		b.waitText(".row .asked code", `"order":"A-17"`)
		seq := w.seqOf(t, "refund", func(e logged) bool {
			return e.Type == "trace" && e.From == "desk" && strings.Contains(string(e.Payload), "config_sha256")
		})
		b.route("/c/refund/" + seq)
		b.wait(`.row.current[data-seq="` + seq + `"] .dots`)
		b.click(`.row[data-seq="` + seq + `"] .dots`)
		clickText(b, ".row .menu button", "Explain")
		b.waitText("parley-why", "It is the one that is registered now.")
		b.waitText("parley-why", "scripted desk")
		b.waitText("parley-why", "You are the refund desk of a shop.") // the configuration itself
	})
}

// TestConsoleFollowsTheFloor: a reader with several seats sees at once which of them may speak,
// however fast the turns follow each other. It cannot send for a seat whose turn is over.
func TestConsoleFollowsTheFloor(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "", nil, "ann:human", "bob:human")
	b := w.open(visitor{}, "/c/case")
	b.waitText("#speak-as option", "ann — may speak")
	// a step that waits for a while would never happen
	b.eval(`(() => { const later = window.setTimeout; window.setTimeout = (fn, ms, ...args) => (ms >= 50 && ms <= 500 ? 0 : later(fn, ms, ...args)); return ''; })()`)
	for range 3 {
		w.say("ann", "case", "yes")
		w.say("bob", "case", "no")
	}
	w.say("ann", "case", "well")
	b.waitText("#speak-as option", "bob — may speak")
	b.until(`document.querySelector("#speak-as").value === "bob"`)
	b.maySend()
	b.eval(`(() => { const send = WebSocket.prototype.send; WebSocket.prototype.send = function (frame) { if (!frame.includes('"explain"')) send.call(this, frame); }; return ''; })()`)
	w.say("bob", "case", "the end")
	b.waitText(".row.message .body", "the end")
	// An explain that was asked before may be answered now. Then the page offers ann's seat.
	if b.eval(`document.querySelector("parley-composer button[type=submit]").disabled ||
		document.querySelector("#speak-as").value !== "bob"`) != "true" {
		t.Error("one may send for bob, whose turn is over")
	}
}

// TestConsoleFolds: traces in a row are one line, which opens to show them one by one, and folds
// again; Enter does what a click does.
func TestConsoleFolds(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "", map[string]any{"startsWith": "bot"}, "ann:human", "bot:agent")
	claim := claimTurn(w, "case", 1)
	for i := range 4 {
		w.call("bot", "sendTrace", map[string]any{"conversationId": "case", "claimId": claim,
			"payload": map[string]any{"kind": "thought", "text": fmt.Sprint("number ", i)}})
	}
	const rows = `[...document.querySelectorAll(".rows > .row")].map(e => e.dataset.seq + "-" + e.dataset.last).join()`
	b := w.open(visitor{}, "/c/case")
	b.waitText(".row.run .fold", "4 thought")
	folded := b.eval(rows)
	b.click(".row.run .fold")
	b.until(rows + ` === "1-1,2-2,3-3,4-4,5-5,6-6"`)
	w.call("bot", "sendTrace", map[string]any{"conversationId": "case", "claimId": claim,
		"payload": map[string]any{"kind": "thought", "text": "number 4"}})
	b.waitText(".row.trace .gist", "number 4") // it is of the run that is shown
	b.waitText(".refold", "5 thought")
	b.eval(`document.querySelector('.row[data-seq="2"]').focus() ?? ''`) // as a click does
	b.press("j")
	b.until(`document.activeElement.dataset.seq === "3"`)
	b.press(kb.Enter)
	b.waitText(`.row[data-seq="3"] .body`, "number 0")
	b.click(".refold")
	b.until(rows + ` === "1-1,2-2,3-7"`)
	b.until(`document.activeElement.matches(".row.run")`)
	b.press(kb.Enter)
	b.wait(".refold")
	if folded != "1-1,2-2,3-6" {
		t.Errorf("at first the rows were %s", folded)
	}
}

// logged is an event as the log has it.
type logged struct {
	Seq        int64
	Type, From string
	Payload    json.RawMessage
}

// seqOf returns the seq of the first matching event.
func (w *consoleWorld) seqOf(t *testing.T, id string, wanted func(logged) bool) string {
	t.Helper()
	var page struct{ Events []logged }
	if err := json.Unmarshal(w.call("admin", "tail", map[string]any{"conversationId": id, "sinceSeq": 0, "limit": 1000}),
		&page); err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		if wanted(e) {
			raw, _ := json.Marshal(e.Seq)
			return string(raw)
		}
	}
	t.Fatal("there is no such event")
	return ""
}
