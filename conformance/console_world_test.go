package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/console"
	"github.com/parleyhub/parley/internal/hubproc"
)

// consoleWorld is a hub with its console, and a browser whose tabs look at it.
type consoleWorld struct {
	t       *testing.T
	hub     *hubproc.Hub
	browser context.Context

	start func() *hubproc.Hub
}

// newConsoleWorld starts both, with further arguments of serve.
func newConsoleWorld(t *testing.T, args ...string) *consoleWorld {
	t.Helper()
	dir, addr := t.TempDir(), hubproc.LowAddress(t)
	w := &consoleWorld{t: t, browser: newBrowser(t)}
	w.start = func() *hubproc.Hub { return program.Start(t, dir, append([]string{"--listen", addr}, args...)...) }
	w.hub = w.start()
	return w
}

// restart starts the hub again at the same address after its end.
func (w *consoleWorld) restart() {
	w.t.Helper()
	w.hub = w.start()
}

// call makes a call as a participant and returns its result.
func (w *consoleWorld) call(as, method string, params any) json.RawMessage {
	w.t.Helper()
	result, err := w.ask(hubproc.Token, as, method, params)
	if err != nil {
		w.t.Fatalf("%s as %s: %v", method, as, err)
	}
	return result
}

// ask makes a call with a token, as a participant unless that is empty.
func (w *consoleWorld) ask(token, as, method string, params any) (json.RawMessage, error) {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, w.hub.HTTP()+"/rpc", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	if as != "" {
		req.Header.Set("Parley-Agent", as)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var r struct {
		Result json.RawMessage
		Error  *parley.WireError
	}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, parley.FromWire(*r.Error)
	}
	return r.Result, nil
}

// create makes a conversation of these participants (ann:human, or bob for an agent) as the first
// of them, with further params, and returns its id.
func (w *consoleWorld) create(id, title string, more map[string]any, participants ...string) string {
	w.t.Helper()
	params := map[string]any{"conversationId": id}
	if title != "" {
		params["title"] = title
	}
	var seats []map[string]string
	for _, p := range participants {
		name, kind, _ := strings.Cut(p, ":")
		seats = append(seats, map[string]string{"id": name, "kind": cmp.Or(kind, "agent")})
	}
	params["participants"] = seats
	for name, value := range more {
		params[name] = value
	}
	w.call(seats[0]["id"], "createConversation", params)
	return id
}

// say says a text that ends the turn.
func (w *consoleWorld) say(as, id, text string) {
	w.t.Helper()
	w.call(as, "sendMessage", map[string]any{"conversationId": id, "payload": map[string]any{"text": text},
		"finality": "turn"})
}

// visitor is who signs in to the console. The zero value is the admin of the hub.
type visitor struct {
	// Agent is whom it speaks as; empty: admin.
	Agent string
	// Agents are further ids of its token, and Scopes its powers; both absent: it has the admin's
	// token.
	Agents, Scopes, Workspaces []string
}

// link returns a link that signs a participant in and leads to a route.
func (w *consoleWorld) link(v visitor, route string) string {
	w.t.Helper()
	return w.linkFrom(w.hub.HTTP(), v, route)
}

// linkFrom returns such a link for a page at an origin where a proxy serves it.
func (w *consoleWorld) linkFrom(origin string, v visitor, route string) string {
	w.t.Helper()
	token, scopes := hubproc.Token, []string{"admin"}
	if v.Agent == "" {
		v.Agent = "admin"
	}
	if v.Scopes != nil {
		token, scopes = w.token(v), v.Scopes
	}
	raw, err := w.ask(token, v.Agent, "createTicket", map[string]any{"origin": origin})
	if err != nil {
		w.t.Fatal(err)
	}
	var r struct{ Ticket string }
	if err := json.Unmarshal(raw, &r); err != nil {
		w.t.Fatal(err)
	}
	return console.Link(origin+console.Path, &console.SignIn{
		Ticket: r.Ticket, AgentID: v.Agent, Agents: v.Agents, Scopes: scopes, Workspaces: v.Workspaces, To: route,
	})
}

// token makes a token as a visitor has it.
func (w *consoleWorld) token(v visitor) string {
	w.t.Helper()
	params := map[string]any{"agentId": v.Agent, "scopes": v.Scopes}
	if v.Agents != nil {
		params["agents"] = v.Agents
	}
	if v.Workspaces != nil {
		params["workspaces"] = v.Workspaces
	}
	var r struct{ Token string }
	if err := json.Unmarshal(w.call("admin", "createToken", params), &r); err != nil {
		w.t.Fatal(err)
	}
	return r.Token
}

// open signs a participant in, in a new tab, at a route such as /c/ID; empty means the list.
func (w *consoleWorld) open(v visitor, route string) *tab {
	w.t.Helper()
	tb := w.tab()
	tb.visit(w.link(v, route))
	tb.wait("body.signed-in")
	return tb
}

// tab is one of the browser's. The test fails if the page says an error on its console, throws one,
// or does what its policy forbids.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // guards the fields below
	faults   []string
	expected []string
}

// openApart is open in a new browser context, which shares no storage with the others.
func (w *consoleWorld) openApart(v visitor, route string) *tab {
	w.t.Helper()
	tb := w.tab(chromedp.WithNewBrowserContext())
	tb.visit(w.link(v, route))
	tb.wait("body.signed-in")
	return tb
}

// tab opens an empty one, which ends with the test.
func (w *consoleWorld) tab(options ...chromedp.ContextOption) *tab {
	w.t.Helper()
	ctx, cancel := chromedp.NewContext(w.browser, options...)
	tb := &tab{t: w.t, ctx: ctx}
	w.t.Cleanup(func() {
		tb.checkFaults()
		cancel()
	})
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		w.t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, tb.hear); err != nil {
		w.t.Fatal(err)
	}
	return tb
}

// hear keeps what should not be.
func (b *tab) hear(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = "exception: " + e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			fault += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			fault = fmt.Sprintf("console.%s:", e.Type)
			for _, arg := range e.Args {
				fault += fmt.Sprintf(" %s%s", arg.Value, arg.Description)
			}
		}
	case *cdplog.EventEntryAdded: // violations of the policy, and what could not be loaded
		if e.Entry.Level == "error" || e.Entry.Source == "security" {
			fault = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	}
	if fault == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fault)
}

// expect says that the page may have a fault with this text, such as that of a socket to a hub that
// was killed.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

func (b *tab) checkFaults() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		if !slices.ContainsFunc(b.expected, func(text string) bool { return strings.Contains(fault, text) }) {
			b.t.Errorf("the page has a fault: %s", fault)
		}
	}
}

// visit goes to an address.
func (b *tab) visit(address string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(address)); err != nil {
		b.t.Fatal(err)
	}
}

// route goes to a place within the page.
func (b *tab) route(route string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("(location.hash = %q)", route))
}

// eval returns the value of an expression as text.
func (b *tab) eval(expression string) string {
	b.t.Helper()
	return see(b.t, b.ctx, "String("+expression+")")
}

// text returns the text of the first element of a CSS selector.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return b.eval(fmt.Sprintf("document.querySelector(%q)?.textContent ?? 'NONE'", selector))
}

// wait waits until there is an element of a CSS selector, and it can be seen.
func (b *tab) wait(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.checkVisibility())", selector))
}

// waitGone waits until no element of a CSS selector can be seen.
func (b *tab) waitGone(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("![...document.querySelectorAll(%q)].some(e => e.checkVisibility())", selector))
}

// waitText waits until an element of a CSS selector has a text in it.
func (b *tab) waitText(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))", selector, text))
}

// between are what the browser answers while one page goes and the next comes: neither can be asked
// then.
var between = []string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context"}

// isBetween reports whether an error is one of between.
func isBetween(err error) bool {
	return err != nil && slices.ContainsFunc(between, func(s string) bool { return strings.Contains(err.Error(), s) })
}

// until waits until an expression is true, in this page or in one that takes its place meanwhile.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.EvaluateAsDevTools[bool]("!!("+expression+")"))
		if err == nil && is {
			return
		}
		if err != nil && !isBetween(err) {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
	b.checkFaults()
	b.t.Fatalf("it never was so: %s\nat %s the page shows:\n%s", expression, b.eval("location.href"),
		b.eval("document.body.innerText"))
}

// click clicks the first element of a CSS selector, once it is there and nothing covers its center.
// The page checks that and clicks in one step, because rows that arrive meanwhile move an element
// away from a position.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.wait(selector)
	step := fmt.Sprintf(`(e => {
		if (!e) return false;
		e.scrollIntoView({ block: 'center', behavior: 'instant' });
		const r = e.getBoundingClientRect();
		if (!e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2))) return false;
		e.focus();
		e.click();
		return true;
	})(document.querySelector(%q))`, selector)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		clicked, err := chromedp.Run(b.ctx, chromedp.EvaluateAsDevTools[bool](step))
		if clicked || isBetween(err) { // the page goes because of the click
			return
		}
		if err != nil {
			b.t.Fatalf("click %s: %v", selector, err)
		}
	}
	b.t.Fatalf("%s cannot be clicked; the page shows:\n%s", selector, b.eval("document.body.innerText"))
}

// fill types a text into an empty field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.wait(selector)
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// press presses keys, such as "gl" or kb.Enter, wherever the focus is.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

func (b *tab) do(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	soon, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(soon, action); err != nil {
		b.t.Fatalf("%v; the page shows:\n%s", err, b.eval("document.body.innerText"))
	}
}
