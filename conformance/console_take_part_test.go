package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConsoleTakesPart: two people write from two tabs. A text that was refused or not sent yet
// stays in its field.
func TestConsoleTakesPart(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("talk", "The talk", nil, "ann:human", "ben:human")
	ann := w.open(visitor{Agent: "ann", Scopes: []string{"read", "write", "create"}}, "/c/talk")
	ben := w.open(visitor{Agent: "ben", Scopes: []string{"read", "write", "create"}}, "/c/talk")

	ann.maySend()
	ben.fill("#speak-text", "I am ben")
	ben.waitText(".guidance", "ann")
	if ben.eval("document.querySelector('parley-composer button[type=submit]').disabled") != "true" {
		t.Error("ben may send while ann has the floor")
	}
	ann.fill("#speak-text", "hello ben")
	ann.pick("small.txt", 10)
	ann.pick("large.bin", 900<<10)
	ann.button("Send")
	ben.waitText("main", "hello ben")
	ben.waitText("main", "large.bin")

	ben.maySend()
	ben.eval("location.reload() ?? ''")
	ben.until("document.querySelector('#speak-text')?.value === 'I am ben'")
	ben.maySend()
	ben.eval(holdMessages)
	ben.button("Send")
	ben.until("window.held.length === 1")
	w.say("ben", id, "ben from elsewhere")
	ben.eval("window.release() ?? ''")
	ben.waitText("parley-composer .refused", "What you wrote is kept.")
	if got := ben.eval("document.querySelector('#speak-text').value"); got != "I am ben" {
		t.Errorf("the draft is %q", got)
	}
	ben.until("document.querySelector('parley-composer button[type=submit]').disabled")
	w.say("ann", id, "and again")
	ben.maySend()
	ben.button("Send")
	ann.waitText("main", "I am ben")
	ben.until("document.querySelector('#speak-text').value === ''")

	var page struct {
		Events []struct {
			Type    string
			Payload struct{ Text string }
		}
	}
	if err := json.Unmarshal(w.call("admin", "tail", map[string]any{"conversationId": id, "sinceSeq": 0}),
		&page); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range page.Events {
		if e.Payload.Text == "I am ben" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("what ben said is there %d times", n)
	}
}

// TestConsoleRepeatsOnce loses the answer to a message: sending again says it once.
func TestConsoleRepeatsOnce(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("once", "", map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human", "ben:human")
	ann := w.open(visitor{Agent: "ann", Scopes: []string{"read", "write"}}, "/c/once")
	ann.maySend()
	ann.fill("#speak-text", "only once")
	ann.eval(`(() => {
		const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (frame) {
			if (!frame.includes('"sendMessage"')) return send.call(this, frame);
			WebSocket.prototype.send = send;
			window.lost = JSON.parse(frame).params.clientRequestId;
			const answer = this.onmessage;
			this.onmessage = (m) => { // the hub says it was done, and the page hears something else
				const reply = JSON.parse(m.data);
				if (reply.id !== JSON.parse(frame).id) return answer.call(this, m);
				this.onmessage = answer;
				answer.call(this, { data: JSON.stringify({ jsonrpc: '2.0', id: reply.id, error: { code: 5031, message: 'nobody knows', data: { reason: 'outcome_unknown' } } }) });
			};
			send.call(this, frame);
		};
		return '';
	})()`)
	ann.button("Send")
	ann.waitText("parley-composer .refused", "it is said once")
	ann.eval("location.reload() ?? ''")
	ann.until("document.querySelector('#speak-text')?.value === 'only once'")
	ann.maySend()
	ann.button("Send")
	ann.until("document.querySelector('#speak-text').value === ''")
	var s struct{ LatestSeq int64 }
	if err := json.Unmarshal(w.call("admin", "getConversation", map[string]any{"conversationId": "once", "limit": 1}),
		&s); err != nil {
		t.Fatal(err)
	}
	if s.LatestSeq != 2 {
		t.Errorf("the log has %d events, want 2: the message is there once", s.LatestSeq)
	}
}

// TestConsoleActs does the rest: a note, a participant, a fork, an interruption and the end. An
// admin that takes the seat of a program is warned.
func TestConsoleActs(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("acts", "The acts", nil, "ann:human", "bot:agent")
	b := w.open(visitor{}, "/c/acts")
	b.maySend()

	b.button("Note…")
	b.fill("dialog textarea", "mind this")
	b.click("dialog button[type=submit]")
	b.waitGone("dialog.dialog")
	b.waitText("main", "mind this")

	b.button("Add participant…")
	b.fill("dialog input", "no id")
	b.click("dialog button[type=submit]")
	b.waitText("dialog .refused", "Expected")
	b.eval("document.querySelector('dialog input').value = ''")
	b.fill("dialog input", "carl")
	b.click("dialog button[type=submit]")
	b.waitGone("dialog.dialog")
	b.until("[...document.querySelectorAll('#speak-as option')].some(o => o.value === 'carl')")

	w.say("ann", id, "a question")
	b.until("document.querySelector('#speak-as') && document.querySelector('parley-composer .guidance').textContent !== ''")
	b.eval("(() => { const s = document.querySelector('#speak-as'); s.value = 'bot'; s.dispatchEvent(new Event('change', { bubbles: true })); return ''; })()")
	b.waitText("parley-composer .warning", "in the place of bot")
	b.waitText("main", "a question")

	b.button("Interrupt turn…")
	b.fill("dialog input", "it takes too long")
	b.click("dialog button[type=submit]")
	b.waitGone("dialog.dialog")
	b.waitText("main", "it takes too long")

	b.button("Fork…")
	b.click("dialog button[type=submit]")
	b.waitText("dialog a", "Compare side by side")
	b.button("Close", "dialog")
	b.waitGone("dialog.dialog")

	b.button("Close…")
	b.fill("dialog input", "all is said")
	b.click("dialog button[type=submit]")
	b.waitGone("dialog.dialog")
	b.waitText("parley-composer .guidance", "The conversation is closed.")
	if got := b.eval("[...document.querySelectorAll('.actions button')].find(b => b.textContent === 'Note…').getAttribute('aria-description')"); got != "The conversation is closed." {
		t.Errorf("the button of notes says %q", got)
	}

	// A reader without the right to write sees the reason.
	w.create("read", "", nil, "dora:human", "ben:human")
	dora := w.open(visitor{Agent: "dora", Scopes: []string{"read"}}, "/c/read")
	dora.waitText("parley-composer .guidance", "lacks the scope write")
}

// TestConsoleStops: a session is stopped from its page, with a reason that who has started it
// reads; it can be neither forked nor closed.
func TestConsoleStops(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	runBlueprint(w, map[string]any{"name": "slow", "argv": []string{"sleep", "60"}, "description": "Takes long.",
		"params_via": "stdin", "parameters_schema": map[string]any{"type": "object"}})
	w.create("case", "", nil, "ann:human", "bob:human")
	id := w.startSession("ann", map[string]any{"agentName": "slow", "parentConversationId": "case", "mode": "async_poll"})
	b := w.open(person("ann"), "/c/"+id)
	b.waitText(".standing", "slow works on turn 2")
	if got := b.eval("[...document.querySelectorAll('.actions button')].map(b => b.textContent).join()"); got != "Interrupt turn…,Note…,Stop session…" {
		t.Errorf("to a session one may do %s", got)
	}
	b.button("Stop session…")
	b.fill("dialog input", "it takes too long")
	b.click("dialog button[type=submit]")
	b.waitGone("dialog.dialog")
	b.waitText(".row.message .body", "it takes too long")
	b.waitText(".ending", "Closed: canceled")
	b.until("[...document.querySelectorAll('.actions button')].at(-1).getAttribute('aria-description') === 'The session ended.'")
	var s struct{ Status string }
	if err := json.Unmarshal(w.call("ann", "getSession", map[string]any{"sessionId": id}), &s); err != nil ||
		s.Status != "stopped" {
		t.Errorf("the session is %+v, %v", s, err)
	}
}

// TestConsoleStarts starts a session from a form that is made of what the agent takes, and shows
// what the hub refuses at its field.
func TestConsoleStarts(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	runBlueprint(w, map[string]any{
		"name": "report", "argv": []string{"echo", "done"}, "description": "Writes a report.", "params_via": "stdin",
		"parameters_schema": map[string]any{
			"type": "object", "required": []string{"title", "pages"}, "additionalProperties": false,
			"properties": map[string]any{
				"title": map[string]any{"type": "string", "pattern": "^[A-Z]", "description": "What it is called."},
				"pages": map[string]any{"type": "integer", "minimum": 1, "maximum": 9},
				"kind":  map[string]any{"type": "string", "enum": []string{"short", "long"}, "default": "short"},
				"tags":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
				"style": map[string]any{"type": "object", "required": []string{"bold"}, "properties": map[string]any{"bold": map[string]any{"type": "boolean"}}},
			},
		},
	})
	b := w.open(visitor{}, "/start/report")
	b.waitText("parley-start", "Writes a report.")
	b.button("Start")
	b.waitText("parley-start .field-wrong", "Required.")
	b.labelled("title", "lower")
	b.labelled("pages", "12")
	b.button("Start")
	b.waitText("parley-start .field-wrong", "At most 9.")
	b.labelled("pages", "3")
	b.button("Add")
	b.labelled("tags 1", "first")
	b.button("Start")
	b.until("document.querySelector('parley-start [aria-invalid]')?.value === 'lower'") // the hub tried the pattern
	b.labelled("title", "Upper")
	b.button("Start")
	b.until("location.hash.startsWith('#/c/ses_')")
	b.waitText("main", "done")
	if all := b.eval("document.querySelector('main').innerText"); !strings.Contains(all, "Upper") ||
		strings.Contains(all, "bold") {
		t.Errorf("the session shows %s", all)
	}

	// From a conversation, which receives the result.
	w.create("case", "", nil, "ann:human", "bob:human")
	b.route("/c/case")
	b.maySend()
	b.button("Start session…")
	b.waitText("dialog select", "report")
	b.click("dialog button[type=submit]")
	b.until(`document.querySelector("#start-parent")?.value === "case"`)
	b.labelled("title", "Another")
	b.labelled("pages", "2")
	b.button("Start")
	b.until("location.hash.startsWith('#/c/ses_')")
	b.waitText(".facts-line", "session of case")
	b.route("/c/case")
	b.waitText(".row.system .sentence", "started report")
}

// runBlueprint runs a runner with one agent until the test ends, and waits until the hub knows
// that.
func runBlueprint(w *consoleWorld, blueprint map[string]any) {
	w.t.Helper()
	dir := w.t.TempDir()
	text, err := json.Marshal(blueprint)
	if err != nil {
		w.t.Fatal(err)
	}
	name := fmt.Sprint(blueprint["name"])
	if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	background(w.t, w.hub, string(program), "run", "--blueprints", dir)
	for end := time.Now().Add(patience); !strings.Contains(string(w.call("admin", "listAgents", map[string]any{})),
		fmt.Sprintf("%q", name)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("there is no agent %s", name)
		}
	}
}

// holdMessages keeps messages back until release.
const holdMessages = `(() => {
	const send = WebSocket.prototype.send;
	window.held = [];
	WebSocket.prototype.send = function (frame) {
		if (frame.includes('"sendMessage"')) window.held.push(() => send.call(this, frame));
		else send.call(this, frame);
	};
	window.release = () => {
		WebSocket.prototype.send = send;
		window.held.splice(0).forEach((go) => go());
	};
	return '';
})()`

// maySend waits until the composer lets one send.
func (b *tab) maySend() {
	b.t.Helper()
	b.until("document.querySelector('parley-composer button[type=submit]')?.disabled === false")
}

// button presses the button of a name, of those within a selector.
func (b *tab) button(name string, within ...string) {
	b.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%q)].find(b => b.checkVisibility() && !b.disabled && b.textContent === %q)", strings.Join(append(within, "button"), " "), name)
	b.until("((found) => found && (found.click(), true))(" + find + ")") // immediately: the page may draw it again
}

// labelled sets the value of the field with a label.
func (b *tab) labelled(label, value string) {
	b.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll('label')].find(l => l.checkVisibility() && l.textContent.replace(' *', '') === %q)", label)
	b.until(find)
	b.eval(fmt.Sprintf("(() => { const f = %s.control; f.focus(); f.value = %q; f.dispatchEvent(new Event('input', { bubbles: true })); return ''; })()", find, value))
}

// pick chooses a file of so many bytes in the composer.
func (b *tab) pick(name string, size int) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => {
		const files = new DataTransfer();
		files.items.add(new File(['x'.repeat(%d)], %q, { type: 'text/plain' }));
		const input = document.querySelector('#speak-files');
		input.files = files.files;
		input.dispatchEvent(new Event('change', { bubbles: true }));
		return '';
	})()`, size, name))
}
