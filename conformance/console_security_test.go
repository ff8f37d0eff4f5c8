package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConsoleHostileWords plays testdata/console/hostile.mjs: events of odd shapes, and shared
// files that claim too much, without a page.
func TestConsoleHostileWords(t *testing.T) {
	t.Parallel()
	node := require(t, "node")
	page, err := filepath.Abs(filepath.Join("..", "adapters", "console", "page", "js"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--no-warnings", "--test", "--test-reporter=spec",
		filepath.Join("testdata", "console", "hostile.mjs"))
	cmd.Env = append(os.Environ(), "PAGE="+(&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// oddShapes are payloads of traces whose members have unexpected types, or whose kinds collide with
// names of the page.
func oddShapes() []map[string]any {
	odd := map[string]any{"toString": 1, "valueOf": nil, "length": -1, "toJSON": "x"}
	var shapes []map[string]any
	for _, kind := range []string{"__proto__", "constructor", "toString", "note", "attachment_added",
		"participant_private", "approval_resolved", "llm_step", "llm_tool_result", "agent_config"} {
		shapes = append(shapes, map[string]any{"kind": kind, "schema": odd, "sha256": odd, "name": odd, "text": "of kind " +
			kind, "data": map[string]any{
			"phase": odd, "model": odd, "finish": odd, "tool": odd, "error": odd, "provider": odd, "usage": odd, "message": odd,
			"metadata": map[string]any{"status": odd}, "key": odd,
		}})
	}
	return shapes
}

// TestConsoleOddShapes: one trace of an odd shape leaves a conversation readable, in the page and
// in a file that is shared.
func TestConsoleOddShapes(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("odd", "Odd", map[string]any{"policy": map[string]any{"kind": "open"}}, "ann:human", "bob:human")
	shapes := oddShapes()
	for _, shape := range shapes {
		w.call("bob", "sendTrace", map[string]any{"conversationId": id, "payload": shape})
	}
	w.call("bob", "sendMessage", map[string]any{"conversationId": id, "finality": "turn", "payload": map[string]any{
		"text": "hello", "more": map[string]any{"toString": 1}, "__proto__": map[string]any{"text": "polluted"},
		"data": map[string]any{"callbacks": []any{map[string]any{"status": map[string]any{"toString": 1}}}},
	}})
	w.say("bob", id, "the end")

	b := w.open(visitor{}, "/c/odd")
	b.waitText(".row.message", "the end")
	for seq := 2; seq <= len(shapes)+2; seq++ {
		b.eval(fmt.Sprintf(`(t => { t.open.add(%d); t.raw.add(%[1]d); t.mark(%[1]d, true); return ""; })(document.querySelector("parley-timeline"))`, seq))
		b.wait(fmt.Sprintf(`.row[data-seq="%d"].current`, seq))
	}
	b.fill("parley-search input", "polluted")
	b.waitText("parley-search .found", "1 found")

	file := filepath.Join(t.TempDir(), "odd.html")
	share(t, w, id, file)
	b.visit("file://" + file)
	b.waitText("#verdict.whole", "Whole and unchanged")
	b.waitText("main", "the end")
	for i, shape := range shapes { // what someone calls a trace is not taken for the hub's word
		b.waitText(fmt.Sprintf("#seq-%d .row-head", i+2), "trace: "+strings.ReplaceAll(fmt.Sprint(shape["kind"]), "_", " "))
	}
}

// TestConsoleShareClaims: a shared page does not attribute a title, file name or text to events
// that do not have it, and contains no file of earlier events.
func TestConsoleShareClaims(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "The case", nil, "ann:human", "ben:human")
	w.call("ann", "putAttachment", map[string]any{"conversationId": id, "data": []byte("the early file"), "name": "early.txt", "mediaType": "text/plain"})
	w.say("ann", id, "pay \ufffd now")
	w.call("ann", "putAttachment", map[string]any{"conversationId": id, "data": []byte("the late file"), "name": "late.txt", "mediaType": "text/html"})
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.html")
	share(t, w, id, whole)

	b := w.tab()
	b.visit("file://" + whole)
	b.waitText("#verdict.whole", "That is what was written if the hub tells the same.")
	if b.eval("document.querySelector('#titled') === null") != "true" {
		t.Error("the title of the conversation is called another's")
	}
	for name, change := range map[string]struct{ from, to, shown, want string }{
		"title":     {`"title":"The case"`, `"title":"Approved by ann"`, "#titled", "of who shared it"},
		"surrogate": {"\ufffd", `\ud800`, "#verdict.broken", "event 3 is the first that is wrong"},
		"hidden":    {`"hidden":0`, `"hidden":null`, "#verdict.broken", "Not what was written"},
	} {
		changed := filepath.Join(dir, name+".html")
		replaceIn(t, whole, changed, change.from, change.to)
		b.visit("file://" + changed)
		b.waitText(change.shown, change.want)
	}

	renamed := filepath.Join(dir, "renamed.html")
	replaceIn(t, whole, renamed, `"name":"early.txt"`, `"name":"early.exe"`)
	b.visit("file://" + renamed)
	b.waitText("#verdict.whole", "Whole")
	b.eval(`(HTMLAnchorElement.prototype.click = function () { window.saved = this.download; }, '')`)
	b.click("#seq-2 .files button")
	b.until("window.saved === 'early.txt'")

	late := filepath.Join(dir, "late.html")
	cmd := exec.CommandContext(t.Context(), string(program), "share", id, "-o", late, "--since", "2")
	cmd.Env = hubEnv(w.hub)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("parley share: %v\n%s", err, out)
	}
	page, err := os.ReadFile(late)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(page); strings.Contains(text, "early.txt") || !strings.Contains(text, "late.txt") {
		t.Error("a page that begins later holds a file of what stands before, or lacks one of its own")
	}
}

// TestConsoleShareHides: a file that a participant shares has nothing of what is hidden from it,
// not even where it cannot be seen.
func TestConsoleShareHides(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.call("ben", "createConversation", map[string]any{"conversationId": "gap", "policy": map[string]any{"kind": "open"},
		"participants": []map[string]string{
			{"id": "ben", "kind": "human", "private": "secret orders"},
			{"id": "ann", "kind": "human", "private": "orders of ann"},
		}})
	w.call("ben", "sendTrace", map[string]any{"conversationId": "gap",
		"payload": map[string]any{"kind": "thought", "text": "secret thought"}})
	w.say("ben", "gap", "what all hear")
	for name, c := range map[string]struct {
		env              []string
		holds, withholds []string
	}{
		"ann": {[]string{"PARLEY_TOKEN=" + w.token(visitor{Agent: "ann", Scopes: []string{"read"}})},
			[]string{"orders of ann", "what all hear"}, []string{"secret"}},
		"all": {nil, []string{"orders of ann", "what all hear", "secret orders", "secret thought"}, nil},
	} {
		file := filepath.Join(t.TempDir(), name+".html")
		share(t, w, "gap", file, c.env...)
		page := readFile(t, file)
		for _, text := range c.holds {
			if !strings.Contains(page, text) {
				t.Errorf("the file of %s lacks %q", name, text)
			}
		}
		for _, text := range c.withholds {
			if strings.Contains(page, text) {
				t.Errorf("the file of %s holds %q", name, text)
			}
		}
	}
}

// TestConsoleHostileAgent: what an agent says of itself and of what it takes is text in every view,
// and no pattern of it is tried in the page.
func TestConsoleHostileAgent(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	const bidi = "\u202egnitirw"
	runBlueprint(w, map[string]any{
		"name": "odd", "argv": []string{"echo", "done"}, "description": hostile + bidi, "params_via": "stdin",
		"parameters_schema": map[string]any{
			"type": "object", "title": hostile, "description": hostile, "required": []string{"slow"},
			"properties": map[string]any{
				"slow": map[string]any{"type": "string", "pattern": "^(a+)+$", "title": hostile + bidi, "description": hostile, "default": strings.Repeat("a", 40) + "!"},
				"pick": map[string]any{"enum": []any{hostile, bidi, nil, map[string]any{"toString": 1}, 1.5}},
				"one": map[string]any{"oneOf": []any{map[string]any{"title": hostile, "type": "object",
					"properties": map[string]any{"kind": map[string]any{"const": bidi}}}, map[string]any{"const": hostile}}},
				"__proto__": map[string]any{"type": "string", "format": "constructor"},
				hostile:     map[string]any{"type": "array", "minItems": 3, "items": map[string]any{"$ref": "#"}},
			},
		},
	})
	b := w.open(visitor{}, "/agents")
	for _, route := range []string{"/agents", "/agents/odd", "/start/odd"} {
		b.route(route)
		b.waitText("main", hostile)
		if n := b.eval("document.querySelectorAll('main img, main script, main svg').length"); n != "0" {
			t.Errorf("%s made %s elements of what an agent says", route, n)
		}
		if got := b.eval(`/[\u202a-\u202e\u2066-\u2069]/.test(document.querySelector("main").textContent)`); got != "false" {
			t.Errorf("%s shows a character that turns text around", route)
		}
	}
	b.button("Start")
	b.waitText("parley-start .refused, parley-start .field-wrong", "^(a+)+$") // the hub tried it, in no time
	if b.eval("({}).owned === undefined && document.title !== 'owned'") != "true" {
		t.Error("the page was taken over")
	}
}

// TestConsoleApprovalShowsAll: the details of an approval are shown completely, or the page reports
// that it cannot do that.
func TestConsoleApprovalShowsAll(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	asker := newAsker(w, "ask", "ann:human", "bot:agent")
	id := asker.ask("one", hostile+"\u202e", map[string]any{
		"tool": "pay\u202e " + hostile, "agent": []string{"somebody else"}, "injected_args": "hidden words",
		"arguments": map[string]any{"account": json.Number("12345678901234567891")}, hostile: hostile,
	})
	b := w.open(visitor{Agent: "ann", Scopes: []string{"read", "approve"}}, "/approvals")
	card := fmt.Sprintf("[data-approval=%q]", id)
	for _, text := range []string{"hidden words", "somebody else", hostile, "\u27e8U+202E\u27e9",
		"larger than a browser can show exactly"} {
		b.waitText(card, text)
	}
	if n := b.eval("document.querySelectorAll('main img, main script').length"); n != "0" {
		t.Errorf("%s elements were made of what an agent asks", n)
	}
}

// TestConsoleManyChildren: an element takes more children than a call takes arguments.
func TestConsoleManyChildren(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	b := w.open(visitor{}, "")
	b.eval(`(import('/console/js/dom.js').then(({ h, replace }) => {
		const many = Array.from({ length: 300000 }, (_, i) => [String(i)]);
		const el = h('div', {}, many);
		const before = el.childNodes.length;
		replace(el, many);
		window.made = before + ' ' + el.childNodes.length;
	}), '')`)
	b.until("window.made === '300000 300000'")
}

// TestConsoleLinksLeadNowhereElse checks that any address of the page opens a view, or reports that
// there is no such view. All links in the page have the scheme http or https.
func TestConsoleLinksLeadNowhereElse(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "The case", nil, "ann:human", "ben:human")
	b := w.open(visitor{}, "")
	for _, route := range []string{
		"/c/case/-1", "/c/case/1e308", "/c/case/Infinity", "/c/case/1.5", "/c/%00", "/c/%E0%A4%A", "/c/..%2f..%2frpc",
		"/c/<img src=x onerror=alert(1)>", "/c/~tokens", "/c/__proto__", "javascript:alert(1)",
		"//evil.example/", "/agents/__proto__", "/agents/<svg onload=alert(1)>", "/start/x?parent=<script>",
		"/compare/a/javascript:alert(1)", "/?text=<b>&status=__proto__", "?ticket=tkt_x", "/constructor",
	} {
		b.route("/approvals")
		b.waitText("main h1", "Approvals")
		b.route(route)
		b.until("document.querySelector('main h1') && document.querySelector('main h1').textContent !== 'Approvals'")
		if got := b.eval("[...document.querySelectorAll('a')].filter(a => a.hasAttribute('href') && !a.href.startsWith(location.origin + '/console#')).map(a => a.href).join(' ')"); got != "" {
			t.Errorf("%s has links to %s", route, got)
		}
		if n := b.eval("document.querySelectorAll('main img, main svg, main script, main b').length"); n != "0" {
			t.Errorf("%s made elements of its address", route)
		}
	}
}

// TestConsoleDoor: whatever is asked at the page's paths, the answer cannot be framed, sniffed or
// run elsewhere, and strangers get none.
func TestConsoleDoor(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	ask := func(method, path string, header ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(method, w.hub.HTTP(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = path
		for i := 0; i < len(header); i += 2 {
			if header[i] == "Host" {
				req.Host = header[i+1]
			} else {
				req.Header.Set(header[i], header[i+1])
			}
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	for _, path := range []string{
		"/console", "/console/", "/console/js/app.js", "/console/js/", "/console/js", "/console/absent", "/console/../rpc",
		"/console/%2e%2e/console.go", "/console/..%2fconsole.go", "/console//js/app.js",
		"/console/js/app.js%00", "/console/js/%61pp.js", "/console/JS/app.js", "/console/js/protocol.d.ts",
		"/console/share.html", "/console/js\\app.js", "/consolex", "/console;x=1",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			resp := ask(method, path)
			what := fmt.Sprintf("%s %s: %d", method, path, resp.StatusCode)
			if resp.StatusCode >= 500 || resp.Header.Get("X-Content-Type-Options") != "nosniff" ||
				resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %v", what, resp.Header)
			}
			kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
			policy := resp.Header.Get("Content-Security-Policy")
			runs := kind == "text/html" || kind == "image/svg+xml" || kind == "text/javascript"
			if runs && (!strings.Contains(policy, "frame-ancestors 'none'") ||
				resp.Header.Get("Cross-Origin-Resource-Policy") != "same-origin") {
				t.Errorf("%s may be framed or run: %v", what, resp.Header)
			}
			if runs && method != "GET" && method != "HEAD" {
				t.Errorf("%s gives a page", what)
			}
			if to := resp.Header.Get("Location"); to != "" && to != "../console" {
				t.Errorf("%s leads to %s", what, to)
			}
		}
	}
	if resp := ask("GET", "/console", "Host", "evil.example"); resp.StatusCode == http.StatusOK {
		t.Error("the page is served under another's name")
	}
	if resp := ask("GET", "/console/js/app.js", "Origin", "https://evil.example"); resp.StatusCode == http.StatusOK {
		t.Error("a module is served to another's page")
	}
}

// TestConsoleKeepsItsSecrets: who signs in by `parley console` has a token of the page's own with
// the powers, the places and the end of the one that made the link, which no address, no cookie and
// no line of the hub has. Signing out ends it, and what was begun to be said is gone; so does
// another link, for the token that it takes the place of.
func TestConsoleKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	w := newConsoleWorld(t, "--audit-log", audit)
	id := w.create("case", "The case", nil, "ann:human", "ben:human")
	w.create("other", "Another", nil, "ann:human", "ben:human")
	w.call("ann", "putAttachment", map[string]any{"conversationId": id, "data": []byte("<script>alert(1)</script>"),
		"name": "a\u202elmth.html", "mediaType": "text/html"})
	var narrow struct{ Token, TokenID string }
	if err := json.Unmarshal(w.call("admin", "createToken", map[string]any{"agentId": "ann", "scopes": []string{"read",
		"write"}, "conversations": []string{id}, "expiresInMs": 3_600_000}), &narrow); err != nil {
		t.Fatal(err)
	}
	link := func() string {
		cmd := exec.CommandContext(t.Context(), string(program), "console", id)
		cmd.Env = append(hubEnv(w.hub), "PARLEY_TOKEN="+narrow.Token)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("parley console: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	b := w.tab()
	first := link()
	_, ticket, _ := strings.Cut(first, "#ticket=")
	ticket, _, _ = strings.Cut(ticket, "&")
	b.visit(first)
	b.waitText("main", "The case")
	secret := b.eval("JSON.parse(sessionStorage.getItem('parley.token')).token")
	child := strings.Split(secret, "_")[1]
	if got := w.liveToken(child); got == nil || fmt.Sprint(got.Scopes) != "[read write]" ||
		fmt.Sprint(got.Conversations) != "[case]" || got.Parent != narrow.TokenID || got.ExpiresAt == "" ||
		got.ExpiresAt > w.liveToken(narrow.TokenID).ExpiresAt {
		t.Errorf("the page has the token %+v", got)
	}
	b.eval(`(HTMLAnchorElement.prototype.click = function () { window.saved = this.download + ' ' + new URL(this.href).protocol; }, '')`)
	b.click(".row .files button")
	b.until("window.saved === 'a\u27e8U+202E\u27e9lmth.html blob:'")
	told := b.eval("[document.cookie, document.referrer, location.href, JSON.stringify(localStorage), document.documentElement.outerHTML, ...performance.getEntriesByType('resource').map(e => e.name)].join(' ')")
	for _, what := range []string{told, string(w.hub.Stderr()), readFile(t, audit)} {
		if strings.Contains(what, secret) || strings.Contains(what, ticket) || strings.Contains(what, narrow.Token) {
			t.Errorf("a secret is told: %s", what)
		}
	}

	b.fill("#speak-text", "what nobody else shall read")
	b.until("Object.keys(sessionStorage).some(k => k.startsWith('parley.draft.'))")
	b.visit(link()) // the hash alone changes: the page reads itself again
	b.until("JSON.parse(sessionStorage.getItem('parley.token') ?? '{}').token !== " + fmt.Sprintf("%q", secret))
	b.waitText("main", "The case")
	w.waitEnded(child)
	secret = b.eval("JSON.parse(sessionStorage.getItem('parley.token')).token")
	b.until("document.querySelector('#speak-text')?.value === 'what nobody else shall read'") // it is the same person's
	b.click("#signout")
	b.wait("parley-signin")
	w.waitEnded(strings.Split(secret, "_")[1])
	if w.liveToken(narrow.TokenID) == nil {
		t.Error("signing out has ended the token that made the link")
	}
	if left := b.eval("JSON.stringify(sessionStorage)"); strings.Contains(left, "plt_") ||
		strings.Contains(left, "nobody else") {
		t.Errorf("who signs in next finds %s", left)
	}
}

// heldToken describes a token of the hub.
type heldToken struct {
	TokenID, Parent, ExpiresAt string
	Scopes, Conversations      []string
}

// liveToken returns a valid token, or nil.
func (w *consoleWorld) liveToken(id string) *heldToken {
	w.t.Helper()
	var r struct{ Tokens []heldToken }
	if err := json.Unmarshal(w.call("admin", "listTokens", map[string]any{}), &r); err != nil {
		w.t.Fatal(err)
	}
	for _, k := range r.Tokens {
		if k.TokenID == id {
			return &k
		}
	}
	return nil
}

// waitEnded waits until a token ends.
func (w *consoleWorld) waitEnded(id string) {
	w.t.Helper()
	for end := time.Now().Add(patience); w.liveToken(id) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("the token %s is still good", id)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
