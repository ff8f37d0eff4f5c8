package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// overflowing returns the elements that are wider than the page and not in a scrolling part, or "".
const overflowing = `(() => {
	const wide = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= wide) return '';
	const own = (e) => { for (let p = e.parentElement; p; p = p.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX) && p !== document.body) return true; return false; };
	return document.documentElement.scrollWidth + ' px wide: ' + [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > wide + 1 && !own(e))
		.map((e) => e.localName + '.' + e.className + ' to ' + Math.round(e.getBoundingClientRect().right)).slice(0, 8).join(', ');
})()`

// TestConsoleNarrow: on a telephone nothing has to be pushed from side to side to be read, in any
// view, and what one speaks with is in reach.
func TestConsoleNarrow(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	a := newAsker(w, "ask", "ann:human", "bot:agent")
	a.ask("one", "bot wants to run a-tool-with-a-rather-long-name_and_no_place_to_break_it",
		map[string]any{"tool": "refund", "arguments": map[string]any{"reference": strings.Repeat("0123456789", 20)},
			"injected_args": map[string]any{"why": "lost"}})
	for i := range 4 {
		w.call("bot", "sendTrace", map[string]any{"conversationId": "ask", "claimId": a.claimID,
			"payload": map[string]any{"kind": "thought", "text": fmt.Sprint(strings.Repeat("a long thought ", 30), i)}})
	}
	w.create("talk", strings.Repeat("Averyverylongword", 6), map[string]any{"policy": map[string]any{"kind": "addressed"}}, "ann:human", "a-participant-with-a-name-that-is-as-long-as-names-are-let-be-64")
	w.call("ann", "sendMessage", map[string]any{"conversationId": "talk", "finality": "none",
		"payload": map[string]any{"text": strings.Repeat("x", 500), "data": map[string]any{"deep": map[string]any{"deeper": map[string]any{"deepest": strings.Repeat("y", 300)}}}}})
	w.call("ann", "forkConversation", map[string]any{"conversationId": "talk", "seq": 2, "forkId": "fork"})
	runBlueprint(w, map[string]any{"name": "report", "argv": []string{"echo", "done"},
		"description": strings.Repeat("Writes a report. ", 20), "params_via": "stdin", "parameters_schema": map[string]any{
			"type": "object", "properties": map[string]any{"title": map[string]any{"type": "string"}, "tags": map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}}})
	b := w.tab()
	b.do(chromedp.EmulateViewport(375, 700))
	b.visit(w.hub.HTTP() + "/console")
	b.wait("parley-signin")
	if wide := b.eval(overflowing); wide != "" {
		t.Errorf("sign-in: %s", wide)
	}
	b.visit(w.link(visitor{}, ""))
	b.wait("body.signed-in")
	for _, v := range []struct{ route, ready, press string }{
		{"/", "tr[data-id=ask] .floor .mark", ""}, {"/c/talk", "#speak-text", ""}, {"/c/ask", "#speak-text", "Why"},
		{"/approvals", ".approval", "Edit the arguments"}, {"/agents", "tr[data-name]", ""},
		{"/agents/report", ".facts", ""}, {"/start/report", ".start-form", "Add"}, {"/compare/talk/fork", ".pair", ""},
		{"/c/talk", "#speak-text", "Fork…"},
	} {
		b.eval("document.querySelector('main').firstElementChild?.setAttribute('data-old', '') ?? ''")
		b.route(v.route)
		b.until("!document.querySelector('main > [data-old]')")
		b.wait(v.ready)
		if v.press != "" {
			b.button(v.press)
		}
		settle(b)
		if wide := b.eval(overflowing); wide != "" {
			t.Errorf("%s %s: %s", v.route, v.press, wide)
		}
		if pushed := b.eval(`[...document.querySelectorAll("main table")].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth).length`); pushed != "0" {
			t.Errorf("%s: a table has to be pushed to be read", v.route) // also in a part that scrolls
		}
		b.picture(fmt.Sprintf("narrow%s%s", strings.ReplaceAll(v.route, "/", "-"), strings.TrimSuffix(v.press, "…")))
		b.eval("document.querySelector('dialog[open]')?.close() ?? ''")
	}
	if sent := b.eval(`(() => { const r = document.querySelector("parley-composer button[type=submit]").getBoundingClientRect(); return r.left >= 0 && r.right <= 375; })()`); sent != "true" {
		t.Error("one cannot reach the button that sends")
	}
}

// TestConsoleByKeys: without a mouse one finds a conversation, speaks in it, reads an event's JSON
// and why, and sees which keys there are. Nothing moves for who does not want that.
func TestConsoleByKeys(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("talk", "The talk", nil, "ann:human", "bob:human")
	w.create("work", "", map[string]any{"workspace": "lab"}, "ann:human", "bob:human")
	b := w.open(person("ann"), "")
	still := []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: still}); err != nil {
		t.Fatal(err)
	}
	b.wait("tr[data-id=talk]")
	b.press("?")
	b.wait("dialog#help[open]")
	b.waitText("dialog#help", "next and previous row or event")
	b.press(kb.Escape)
	b.waitGone("dialog#help")
	b.tabTo(`.skip`)
	b.press(kb.Enter)
	b.until(`document.activeElement.id === 'main'`)
	b.tabTo(`input[name=workspace]`)
	b.press("lab")
	b.waitGone("tr[data-id=talk]")
	b.until(`location.hash === '#/?workspace=lab'`)
	b.route("/?text=the+TALK")
	b.wait("tr[data-id=talk]")
	b.waitGone("tr[data-id=work]")
	b.press("j")
	b.until(`document.activeElement.closest('tr')?.dataset.id === 'talk'`)
	b.press(kb.Enter)
	b.until(`location.hash === '#/c/talk'`)
	b.wait("#speak-text")
	b.until("!document.querySelector('parley-composer button[type=submit]').disabled")
	b.tabTo("#speak-text")
	b.press("by keys alone")
	b.tabTo("parley-composer button[type=submit]")
	b.press(kb.Enter)
	b.waitText(".row.message .body", "by keys alone")
	b.until("document.querySelector('parley-composer button[type=submit]').disabled") // it is bob's turn
	b.tabTo(".scroller")
	b.press("k")
	b.until(`document.activeElement.matches('.row')`)
	b.press(kb.Enter)
	b.wait(".row .raw")
	b.tabTo(".row.current .dots")
	b.press(kb.Enter)
	// the row was drawn again and kept the focus
	b.until(`document.activeElement.matches('.row.current .dots')`)
	b.tabTo(".row.current .menu button:last-child")
	b.press(kb.Enter)
	b.waitText("parley-why h2", "after event")
	if moving := b.eval(`document.getAnimations().length + [...document.querySelectorAll('body *')].filter(e => getComputedStyle(e).animationName !== 'none' || parseFloat(getComputedStyle(e).transitionDuration) > 0).length`); moving != "0" {
		t.Errorf("%s things move", moving)
	}
}

// tabTo presses Tab until an element has the focus, and it can be seen that it has.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	b.wait(selector)
	for range 120 {
		if b.eval(fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) == "true" {
			if outline := b.eval(`getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
				b.t.Errorf("that %s has the focus cannot be seen", selector)
			}
			return
		}
		b.press(kb.Tab)
	}
	b.t.Fatalf("no number of Tab leads to %s; the focus is on %s", selector,
		b.eval("document.activeElement.outerHTML.slice(0, 200)"))
}
