package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/parleyhub/parley/internal/hubproc"
)

// seqsShown returns the seqs of the events that the model of the open conversation has, as JSON.
const seqsShown = `JSON.stringify(document.querySelector("parley-conversation").conversation.events.map(e => e.seq))`

// person is a participant without other rights.
func person(id string) visitor {
	return visitor{Agent: id, Scopes: []string{"read", "write", "create"}}
}

// TestConsoleTwoPeople: two people in two browsers and a scripted agent hold a conversation, and
// each sees what the others say as it is said.
func TestConsoleTwoPeople(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "Two people", nil, "ann:human", "bob:human", "bot:agent")
	ann, bob := w.open(person("ann"), "/c/case"), w.open(person("bob"), "/c/case")
	ann.wait(`.row[data-seq="1"]`)
	bob.wait(`.row[data-seq="1"]`)

	speak(ann, "Good morning, Bob.")
	for _, b := range []*tab{ann, bob} {
		b.waitText(`.row.message[data-seq="2"] .body`, "Good morning, Bob.")
		b.waitText(`.row.message[data-seq="2"] .who`, "ann")
	}
	bob.waitText("parley-timeline [aria-live]", "Good morning") // it is said to who cannot see it
	speak(bob, "And to you.")
	ann.waitText(".row.message .body", "And to you.")

	claim := claimTurn(w, id, 3)
	ann.waitText("parley-countdown", "left")
	w.call("bot", "sendDelta", map[string]any{"conversationId": id, "turn": 3, "claimId": claim, "index": 0,
		"text": "I am thin"})
	w.call("bot", "sendDelta", map[string]any{"conversationId": id, "turn": 3, "claimId": claim, "index": 1,
		"text": "king"})
	ann.waitText(".telling .body", "I am thinking")
	w.call("bot", "sendMessage", map[string]any{"conversationId": id, "turn": 3, "claimId": claim,
		"payload": map[string]any{"text": "I am thinking about it."}, "finality": "turn"})
	for _, b := range []*tab{ann, bob} {
		b.waitText(".row.message .body", "I am thinking about it.")
		b.until(`!document.querySelector(".telling")`)
	}
	if a, b := ann.eval(seqsShown), bob.eval(seqsShown); a != b {
		t.Errorf("ann sees %s, bob %s", a, b)
	}
}

// speak says a text by the composer.
func speak(b *tab, text string) {
	b.t.Helper()
	b.until(`document.querySelector("#speak-text") && !document.querySelector("parley-composer button[type=submit]").disabled`)
	b.fill("#speak-text", text)
	b.click("parley-composer button[type=submit]")
}

// claimTurn claims a turn for the agent bot, and returns the claim's id.
func claimTurn(w *consoleWorld, id string, turn int) string {
	w.t.Helper()
	var c struct{ ClaimID string }
	if err := json.Unmarshal(w.call("bot", "claimTurn", map[string]any{"conversationId": id, "turn": turn}),
		&c); err != nil {
		w.t.Fatal(err)
	}
	return c.ClaimID
}

// TestConsoleClaimLapses: of an agent that claims its turn, begins to speak and dies, the page
// shows the time that it has, that it is over, and that its words do not count.
func TestConsoleClaimLapses(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "", map[string]any{"startsWith": "bot", "limits": map[string]any{"turnTimeoutMs": 10_000}},
		"ann:human", "bot:agent")
	ann := w.open(person("ann"), "/c/case")
	ann.wait(`.row[data-seq="1"]`)
	claim := claimTurn(w, id, 1)
	ann.waitText(".standing", "attempt 1")
	ann.waitText(".standing parley-countdown", "left")
	w.call("bot", "sendMessage", map[string]any{"conversationId": id, "claimId": claim, "turn": 1,
		"payload": map[string]any{"text": "I have half an ans"}, "finality": "none"})
	ann.waitText(`.row.message[data-seq="3"] .body`, "half an ans")
	ann.waitText(`.row.withdrawn[data-seq="3"] .chip`, "withdrawn: attempt 1 expired") // the claim was not renewed
	ann.waitText(`.row.system[data-seq="4"]`, "was not renewed in time")
	ann.waitGone(".standing")
	again := claimTurn(w, id, 1)
	ann.waitText(".standing", "attempt 2")
	w.call("bot", "sendMessage", map[string]any{"conversationId": id, "claimId": again, "turn": 1,
		"payload": map[string]any{"text": "The whole answer."}, "finality": "turn"})
	ann.waitText(".row.message .body", "The whole answer.")
	if got := ann.eval(`[...document.querySelectorAll(".row.withdrawn")].map(e => e.dataset.seq).join()`); got != "3" {
		t.Errorf("withdrawn are %s, want 3", got)
	}
}

// TestConsoleShowsSessions: a session is below the event that started it, live, with its messages
// and its end.
func TestConsoleShowsSessions(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "", map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human", "bob:human")
	worker, err := hubproc.Dial(w.hub.URL, "worker", func(*hubproc.Frame[json.RawMessage]) {}, hubproc.CallerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if err := worker.Call("registerExecutor", map[string]any{"executorId": "w1", "agents": []string{"worker"}},
		nil); err != nil {
		t.Fatal(err)
	}
	b := w.open(visitor{}, "/c/case")
	b.wait(`.row[data-seq="1"]`)
	var s struct{ SessionID string }
	if err := json.Unmarshal(w.call("ann", "startSession", map[string]any{"agentName": "worker", "prompt": "Count to three.", "mode": "async_poll", "parentConversationId": id}), &s); err != nil {
		t.Fatal(err)
	}
	b.waitText(`.row.system[data-seq="2"]`, "ann started worker")
	clickText(b, `.row[data-seq="2"] button`, "Show the session")
	b.waitText("parley-session", "Count to three.")
	var c struct {
		ClaimID string
		Turn    int64
	}
	if err := worker.Call("claimTurn", map[string]any{"conversationId": s.SessionID, "turn": 2}, &c); err != nil {
		t.Fatal(err)
	}
	b.waitText("parley-session .row.system", "claimed turn 2")
	if err := worker.Call("sendMessage", map[string]any{"conversationId": s.SessionID, "claimId": c.ClaimID, "payload": map[string]any{"text": "One, two, three."}, "finality": "conversation"}, nil); err != nil {
		t.Fatal(err)
	}
	b.waitText("parley-session .row.message", "One, two, three.")
	b.waitText("parley-session .chip", "completed")
	b.waitText(`.row.system[data-seq="3"]`, "ended: completed")
	b.waitText(`.row[data-seq="2"] header .chip`, "completed")
	clickText(b, `.row[data-seq="2"] button`, "ended at #3")
	b.wait(`.row.current[data-seq="3"]`)
}

// TestConsoleFindsItsWay: a link to an event, the JSON of one, the keys, the search, and why.
func TestConsoleFindsItsWay(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "The way", map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human", "bob:human")
	for i := range 300 {
		w.say("ann", id, fmt.Sprintf("This is word number %d of a long talk.", i+2))
	}
	w.call("ann", "sendNote", map[string]any{"conversationId": id,
		"payload": map[string]any{"schema": "odd.v1", "data": map[string]any{"hidden": "needle"}}})
	b := w.open(visitor{}, "/c/case/77")
	b.wait(`.row.current[data-seq="77"]`)
	b.click(`.row[data-seq="77"] .dots`)
	clickText(b, `.row[data-seq="77"] .menu button`, "JSON")
	b.waitText(`.row[data-seq="77"] .raw`, `"text": "This is word number 77 of a long talk."`)

	b.eval(`document.querySelector('.row[data-seq="77"]').focus() ?? ''`)
	b.press("j")
	b.until(`document.activeElement.dataset.seq === "78"`)
	b.press("k")
	b.press("k")
	b.until(`document.activeElement.dataset.seq === "76"`)

	b.press("/")
	b.until(`document.activeElement.type === "search"`)
	b.eval(`(document.activeElement.value = '', '')`) // the driver types the key all the same
	b.press("number 12")
	b.waitText(".found", "11 found") // 12, and 120 to 129
	b.press(kb.Enter)
	b.waitText(".found", "of 11")
	b.until(`document.querySelector(".row.current.hit")`)
	b.eval(`(document.activeElement.value = '', '')`)
	b.press("needle")
	b.waitText(".found", "1 found")
	b.press(kb.Enter)
	b.wait(`.row.current[data-seq="302"]`)

	clickText(b, "button", "Why")
	b.waitText(`parley-why [data-seat="bob"]`, "may speak")
	b.waitText(`parley-why`, "rules tried")
	b.eval(`document.querySelector('.row[data-seq="302"]').dispatchEvent(new CustomEvent("parley-explain", {bubbles: true, detail: {seq: 302}})) ?? ''`)
	b.waitText("parley-why h2", "after event 302")
	b.waitText("parley-why", "No agent here subscribes")

	b.route("/c/case/5000")
	b.waitText(".toast", "there is none")
	b.route("/c/nowhere")
	b.waitText("h1", "no such conversation")
}

// TestConsoleCompares: a conversation and its fork side by side, by what they share and where they
// differ.
func TestConsoleCompares(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "One way", nil, "ann:human", "bob:human")
	w.say("ann", id, "Shall we?")
	w.say("bob", id, "Yes.")
	w.call("ann", "forkConversation", map[string]any{"conversationId": id, "seq": 2, "forkId": "other", "title": "The other way"})
	w.say("bob", "other", "No.")
	b := w.open(visitor{}, "/compare/case/other")
	b.waitText("parley-compare", "The first 2 events are the same")
	b.until(`[...document.querySelectorAll(".pair.differs")].some(e => e.textContent.includes("Yes.") && e.textContent.includes("No."))`)
	w.say("ann", "other", "A pity.") // it is live
	b.waitText(".pair.differs", "A pity.")
	b.route("/c/other")
	b.waitText(".row.system", "forked this from case at #2")
	b.waitText(".facts-line", "fork of case at #2")
}

// TestConsoleFollowsTheEnd: at the end of the page, new events are shown as they arrive. A reader
// further up sees their number, and its view does not move.
func TestConsoleFollowsTheEnd(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "", map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human", "bob:human")
	for i := range 120 {
		w.say("ann", id, fmt.Sprintf("word %d", i))
	}
	b := w.open(visitor{}, "/c/case")
	b.wait(`.row[data-seq="121"]`)
	w.say("ann", id, "the newest")
	b.waitText(`.row[data-seq="122"]`, "the newest")
	b.eval(`(document.querySelector(".scroller").scrollTop = 900, '')`)
	b.wait(".newer")
	const firstRow = `(() => { const s = document.querySelector(".scroller").getBoundingClientRect();
		const r = [...document.querySelectorAll(".rows .row")].find(e => e.getBoundingClientRect().bottom > s.top + 1);
		return r.dataset.seq + " at " + Math.round(r.getBoundingClientRect().top - s.top); })()`
	settle(b)
	before := b.eval(firstRow)
	for i := range 7 {
		w.say("bob", id, fmt.Sprintf("later %d", i))
	}
	b.waitText(".newer", "7 new events")
	if after := b.eval(firstRow); after != before {
		t.Errorf("what is read has moved: row %s, before %s", after, before)
	}
	b.click(".newer")
	b.waitText(".row.message", "later 6")
	b.waitGone(".newer")
}

// settle waits until two frames were drawn.
func settle(b *tab) {
	b.t.Helper()
	b.eval(`(window.settled = 0, requestAnimationFrame(() => requestAnimationFrame(() => { window.settled = 1; })), '')`)
	b.until("window.settled === 1")
}

// sameSeqs compares the events of the page with those that the hub returns to the same reader.
func sameSeqs(t *testing.T, w *consoleWorld, as, id string, b *tab) {
	t.Helper()
	var want []int64
	for since, latest := int64(0), int64(1); since < latest; {
		var page struct {
			Events             []struct{ Seq int64 }
			NextSeq, LatestSeq int64
		}
		if err := json.Unmarshal(w.call(as, "tail", map[string]any{"conversationId": id, "sinceSeq": since, "limit": 1000}),
			&page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			want = append(want, e.Seq)
		}
		since, latest = page.NextSeq, page.LatestSeq
	}
	b.until(fmt.Sprintf(`document.querySelector("parley-conversation").conversation.latestSeq === %d`, want[len(want)-1]))
	b.until(`document.querySelector("parley-conversation").conversation.whole`)
	var got []int64
	if err := json.Unmarshal([]byte(b.eval(seqsShown)), &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page has %d events, the log %d: %v", len(got), len(want), got)
	}
}

// clickText clicks the first element of a CSS selector with this text.
func clickText(b *tab, selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.trim() === %q)`, selector, text))
	b.eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].find(e => e.textContent.trim() === %q).click() ?? ''`,
		selector, text))
}
