package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/parleyhub/parley/internal/hubproc"
)

// hostile is a message that would run if a page or the hub took it for HTML.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// TestBrowser opens a page of another origin in a real browser: it reads a conversation by ticket,
// over SSE and over a WebSocket.
func TestBrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	pages := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	defer pages.Close()
	h := program.Start(t, t.TempDir(), "--allow-origin", pages.URL)
	p := &page{t: t, hub: h, origin: pages.URL}
	id := p.create()

	for _, door := range []string{"sse", "socket"} {
		t.Run(door, func(t *testing.T) {
			p.t = t
			ctx, cancel := chromedp.NewContext(b)
			defer cancel()
			link := p.link(door, id, p.ticket(id, pages.URL))
			p.open(ctx, link, "caught up")
			const last = `document.querySelector("#log li:last-child")`
			if got, want := see(t, ctx, last+".textContent"), "ann: "+hostile; got != want {
				t.Errorf("the page shows %q, want %q", got, want)
			}
			if seq := see(t, ctx, last+".dataset.seq"); seq != "2" {
				t.Errorf("the last event has seq %s, want 2", seq)
			}
			p.call("ann", "sendNote", fmt.Sprintf(`{"conversationId":%q,"payload":{"schema":"live","data":1}}`, id))
			wait(t, ctx, `//li[@data-seq="3" and text()="system"]`) // it came live
			if title := see(t, ctx, "document.title"); title == "owned" {
				t.Error("a message ran as HTML")
			}
			// used already
			p.open(ctx, link, "refused")
			// made for another page
			p.open(ctx, p.link(door, id, p.ticket(id, "https://elsewhere.example")), "refused")
			// never made
			p.open(ctx, p.link(door, id, "not-a-ticket"), "refused")
			// the page's own origin is another
			p.open(ctx, strings.Replace(p.link(door, id, p.ticket(id, "")), "127.0.0.1", "localhost", 1), "refused")
		})
		id = p.create() // so that both see the same
	}
	h.Stop(t)
}

// page is what a program on the side of the page's server does.
type page struct {
	t      *testing.T
	hub    *hubproc.Hub
	origin string
}

func (p *page) create() string {
	p.t.Helper()
	var s struct{ ConversationID string }
	p.decode(p.call("ann", "createConversation",
		`{"participants":[{"id":"ann","kind":"human"},{"id":"bob","kind":"human"}]}`), &s)
	text, _ := json.Marshal(hostile)
	p.call("ann", "sendMessage", fmt.Sprintf(`{"conversationId":%q,"payload":{"text":%s},"finality":"turn"}`,
		s.ConversationID, text))
	return s.ConversationID
}

func (p *page) ticket(id, origin string) string {
	p.t.Helper()
	params := map[string]string{"conversationId": id}
	if origin != "" {
		params["origin"] = origin
	}
	body, _ := json.Marshal(params)
	var r struct{ Ticket string }
	p.decode(p.call("ann", "createTicket", string(body)), &r)
	return r.Ticket
}

func (p *page) link(door, id, ticket string) string {
	q := url.Values{"door": {door}, "hub": {p.hub.HTTP()}, "conversation": {id}, "ticket": {ticket}}
	return p.origin + "/page.html?" + q.Encode()
}

// open opens a page and waits until it says that it is in a state.
func (p *page) open(ctx context.Context, link, state string) {
	p.t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(link)); err != nil {
		p.t.Fatal(err)
	}
	wait(p.t, ctx, fmt.Sprintf(`//p[@id="state" and text()=%q]`, state))
}

// call makes a call as a participant and returns its result.
func (p *page) call(as, method, params string) json.RawMessage {
	p.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequest(http.MethodPost, p.hub.HTTP()+"/rpc", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + hubproc.Token}, "Parley-Agent": {as},
		"Content-Type": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var r struct{ Result, Error json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || r.Error != nil {
		p.t.Fatalf("%s: %v %s", method, err, r.Error)
	}
	return r.Result
}

func (p *page) decode(raw json.RawMessage, into any) {
	p.t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		p.t.Fatal(err)
	}
}

// chromium is the browser of all tests. Its start costs more than most tests, so it starts once,
// with the first test that needs it. TestMain stops it.
var chromium browserProcess

// headlessShell is Chromium without windows: the same engine, network stack and storage. Where it
// is installed the tests use it, because each window of the whole browser starts processes for its
// own toolbar and side panels, which cost more than most tests.
const headlessShell = "chromium-headless-shell"

// browserProcess is a browser that starts when it is needed.
type browserProcess struct {
	mu   sync.Mutex
	ctx  context.Context // nil before the start
	stop func()
	err  error // of the start
}

// start starts the browser, once. It returns its first context.
func (b *browserProcess) start(path string) (context.Context, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil || b.err != nil {
		return b.ctx, b.err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.WindowSize(1200, 800), chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // its sandbox refuses root
	}
	alloc, end := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		cancel()
		end()
		version, _ := exec.Command(path, "--version").CombinedOutput()
		b.err = fmt.Errorf("start %s (%s): %w", path, bytes.TrimSpace(version), err)
		return nil, b.err
	}
	b.ctx, b.stop = ctx, func() { cancel(); end() }
	return b.ctx, nil
}

// close stops the browser and waits for its end. No test runs any more.
func (b *browserProcess) close() {
	if b.stop != nil {
		b.stop()
	}
}

// newBrowser returns a browser for one test: a browser context of the shared process. Its tabs
// share cookies and storage with each other, and with no other test. It ends with the test.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath(headlessShell)
	if err != nil {
		path = require(t, "chromium")
	}
	shared, err := chromium.start(path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := chromedp.CallBrowser(shared, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := chromedp.CallBrowser(shared, target.DisposeBrowserContext,
			target.DisposeBrowserContextParams(made))
		if err != nil {
			t.Error(err)
		}
	})
	ctx, stop := chromedp.NewContext(shared, chromedp.WithExistingBrowserContext(made.BrowserContextID))
	t.Cleanup(stop)
	return ctx
}

// wait waits until there is an element.
func wait(t *testing.T, ctx context.Context, xpath string) {
	t.Helper()
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(soon, chromedp.WaitVisible(xpath)); err != nil {
		t.Fatalf("wait for %s: %v; the page shows:\n%s", xpath, err, see(t, ctx, "document.body.outerHTML"))
	}
}

// see returns the value of an expression in the page.
func see(t *testing.T, ctx context.Context, expression string) string {
	t.Helper()
	got, err := chromedp.Run(ctx, chromedp.EvaluateAsDevTools[string](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return got
}
