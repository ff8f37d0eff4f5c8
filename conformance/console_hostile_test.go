package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// hostileTexts are texts that try to take over the page or to hide other text.
var hostileTexts = map[string]string{
	"html":     hostile,
	"svg":      `<svg onload="alert(1)"><script>alert(2)</script></svg><iframe srcdoc="<script>parent.alert(3)</script>"></iframe>`,
	"link":     `[click me](javascript:alert(4)) <a href="javascript:alert(5)">here</a> javascript:alert(6) data:text/html,<script>alert(7)</script> http://a.example/"onclick="alert(8)`,
	"template": "${alert(9)} {{constructor.constructor('alert(10)')()}} </script><script>alert(11)</script> <!-- ]]> \x1b[2J",
	"bidi":     "pay \u202e001$\u202c to \u2066me\u2069 \u200b\u200f and \ufeffmore",
	"proto":    `{"__proto__":{"owned":true},"constructor":{"prototype":{"owned":true}}}`,
}

// TestConsoleHostileTexts: whatever is said, as text, data, names, titles and traces, is shown as
// text and does nothing.
func TestConsoleHostileTexts(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", hostile, map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human", "bob:human")
	deep := strings.Repeat(`{"a":[`, 25) + `"the bottom"` + strings.Repeat(`]}`, 25)
	for name, text := range hostileTexts {
		w.call("ann", "sendMessage", map[string]any{"conversationId": id, "finality": "none", "payload": map[string]any{
			"text": text, "schema": text[:min(len(text), 100)], "tags": []string{name}, text: text,
			"data": map[string]any{text: []string{text}, "__proto__": text, "deep": json.RawMessage(deep)},
		}})
		w.call("ann", "sendTrace", map[string]any{"conversationId": id,
			"payload": map[string]any{"kind": "llm_tool_result", "text": text, "data": map[string]any{"tool": text, "text": text, "metadata": text}}})
		w.call("ann", "sendNote", map[string]any{"conversationId": id,
			"payload": map[string]any{"schema": "hostile", "tags": []string{"<b>" + name}, "data": text}})
	}
	w.say("ann", id, "see https://parley.example/docs?q=1. And "+strings.Repeat("x", 850<<10)) // one line
	w.say("bob", id, "the end")

	b := w.tab()
	var dialogs atomic.Int32
	if err := chromedp.Listen(b.ctx, func(event any) {
		if _, ok := event.(*cdppage.EventJavascriptDialogOpening); ok {
			dialogs.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.visit(w.link(visitor{}, "/c/case"))
	b.waitText(".row.message", "the end")
	b.until(`document.querySelector("parley-conversation").conversation.whole`)
	latest := 3*len(hostileTexts) + 3
	for seq := 1; seq <= latest; seq++ { // each is opened, and so is its JSON
		b.eval(fmt.Sprintf(`(t => { t.open.add(%d); t.raw.add(%[1]d); t.menus.add(%[1]d); t.mark(%[1]d, true); return ""; })(document.querySelector("parley-timeline"))`, seq))
		b.wait(fmt.Sprintf(`.row[data-seq="%d"]`, seq))
		b.eval(`[...document.querySelectorAll("parley-timeline details")].forEach(d => { d.open = true; }) ?? ""`)
		for _, text := range []string{"img", "svg", "script", "iframe", "[onerror]", "[onload]", "[onclick]", "[style*=url]",
			`a[href^="javascript" i]`, `a[href^="data" i]`} {
			if n := b.eval(fmt.Sprintf("document.querySelector('main').querySelectorAll(%q).length", text)); n != "0" {
				t.Fatalf("event %d made %s elements %s", seq, n, text)
			}
		}
	}
	b.waitText(".cut button", "Show all")
	clickText(b, fmt.Sprintf(`.row[data-seq="%d"] .body .cut button`, latest-1),
		b.text(fmt.Sprintf(`.row[data-seq="%d"] .body .cut button`, latest-1)))
	b.until(fmt.Sprintf(`document.querySelector('.row[data-seq="%d"] .text.long').textContent.length > 850 * 1024`,
		latest-1))
	if width := b.eval("document.documentElement.scrollWidth <= innerWidth"); width != "true" {
		t.Error("a long line makes the page wider than the window")
	}
	checkShown(t, b)
	if n := dialogs.Load(); n > 0 {
		t.Errorf("%d dialogs were opened", n)
	}
	if got := b.eval("({}).owned"); got != "undefined" {
		t.Error("a text has changed the prototype of objects")
	}
	if title := b.eval("document.title"); title == "owned" || !strings.Contains(title, "<img") {
		t.Errorf("the title is %q", title)
	}
}

// checkShown checks how the page shows a text that hides others, and a link.
func checkShown(t *testing.T, b *tab) {
	t.Helper()
	b.eval(`(t => { t.mark(t.conversation.events.find(e => e.payload.tags?.[0] === "bidi").seq, true); return ""; })(document.querySelector("parley-timeline"))`)
	b.waitText(".row.current .body .text", "\u27e8U+202E\u27e9")
	if got := b.eval(`/[\u202a-\u202e\u2066-\u2069]/.test(document.querySelector("main").textContent)`); got != "false" {
		t.Error("a character that turns text around is in the page")
	}
	b.eval(`(t => { t.mark(t.conversation.events.at(-2).seq, true); return ""; })(document.querySelector("parley-timeline"))`)
	b.until(`document.querySelector(".row.current .body a[href='https://parley.example/docs?q=1']")`)
	if rel := b.eval(`document.querySelector(".row.current .body a").rel`); rel != "noopener noreferrer" {
		t.Errorf("a link has rel %q", rel)
	}
}
