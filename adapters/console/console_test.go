package console_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley/adapters/console"
)

// get requests a path from the handler.
func get(t *testing.T, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "hub.example:7447"
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	console.Handler(console.Options{}).ServeHTTP(w, r)
	return w.Result()
}

func TestHandler(t *testing.T) {
	for _, c := range []struct {
		target    string
		status    int
		mediaType string
	}{
		{"/console", 200, "text/html; charset=utf-8"},
		{"/console/", 308, ""},
		{"/console/index.html", 404, "text/plain; charset=utf-8"},
		{"/console/js/app.js", 200, "text/javascript; charset=utf-8"},
		{"/console/css/console.css", 200, "text/css; charset=utf-8"},
		{"/console/icon.svg", 200, "image/svg+xml"},
		{"/consolex", 404, "text/plain; charset=utf-8"},
		{"/console/js", 404, "text/plain; charset=utf-8"},
		{"/console/js/protocol.d.ts", 404, "text/plain; charset=utf-8"},
		{"/console/js/absent.js", 404, "text/plain; charset=utf-8"},
		{"/console/../console.go", 404, "text/plain; charset=utf-8"},
		{"/console/js/../index.html", 404, "text/plain; charset=utf-8"},
	} {
		resp := get(t, c.target)
		if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.mediaType {
			t.Errorf("%s: %d %s", c.target, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cache-Control": "no-cache",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.target, name, got, want)
			}
		}
		policy := resp.Header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self';", "style-src 'self';", "base-uri 'none'", "form-action 'none'",
			"frame-ancestors 'none'",
			"require-trusted-types-for 'script'", "connect-src 'self' ws://hub.example:7447 wss://hub.example:7447;",
		} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q has no %s", c.target, policy, part)
			}
		}
	}
}

// An invalid Host is not in the policy.
func TestHostInPolicy(t *testing.T) {
	for _, host := range []string{"x; script-src *", "x y", "", "a/b", strings.Repeat("a", 300)} {
		r := httptest.NewRequest(http.MethodGet, "/console", nil)
		r.Host = host
		w := httptest.NewRecorder()
		console.Handler(console.Options{}).ServeHTTP(w, r)
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self';") {
			t.Errorf("%q: %s", host, policy)
		}
	}
}

// A client that already has a file does not receive it again.
func TestUnchanged(t *testing.T) {
	resp := get(t, "/console/js/app.js")
	tag := resp.Header.Get("ETag")
	if tag == "" || get(t, "/console/js/app.js", "If-None-Match", tag).StatusCode != http.StatusNotModified {
		t.Errorf("the tag is %q", tag)
	}
	if get(t, "/console/js/app.js", "If-None-Match", `"other"`).StatusCode != http.StatusOK {
		t.Error("a file that has changed is not given")
	}
}

// forbidden are ways to create HTML or code from text. The policy of the page prevents them, and no
// module uses them.
var forbidden = regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|parseHTMLUnsafe|` +
	`createContextualFragment|DOMParser)\b|document\.write|\beval\(|new Function\b`)

// No module can create HTML from text, and every file that the page names exists.
func TestNoHTMLFromText(t *testing.T) {
	page := os.DirFS("page")
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".ts" {
			return err
		}
		text, err := fs.ReadFile(page, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if found := forbidden.FindString(code); found != "" {
				t.Errorf("%s:%d has %s", name, i+1, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	index, err := fs.ReadFile(page, "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="console/([^"]+)"`).FindAllStringSubmatch(string(index), -1) {
		if resp := get(t, "/console/"+m[1]); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", m[1], resp.StatusCode)
		}
	}
}

// Every imported module is served.
func TestModulesAreThere(t *testing.T) {
	page := os.DirFS("page/js")
	names, err := fs.Glob(page, "*.js")
	if err != nil {
		t.Fatal(err)
	}
	imports := regexp.MustCompile(`(?m)(?:^\s*(?:import|export)\b[^'"]*?|\bimport\()\s*['"]\./([^'"]+)['"]`)
	for _, name := range names {
		text, err := fs.ReadFile(page, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range imports.FindAllStringSubmatch(regexp.MustCompile(`(?s)/\*\*.*?\*/`).ReplaceAllString(string(text),
			""), -1) {
			if _, err := fs.Stat(page, m[1]); err != nil {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
}

func TestLink(t *testing.T) {
	got := console.Link("http://127.0.0.1:7447/console", &console.SignIn{
		Ticket: "tkt_a-b", AgentID: "ann", Agents: []string{"ann", "bob"}, Scopes: []string{"read"},
		Conversations: []string{"cnv_1"}, To: "/c/a b/3",
	})
	const want = "http://127.0.0.1:7447/console#ticket=tkt_a-b&agent=ann&agents=ann,bob&scopes=read&conversations=cnv_1&to=/c/a+b/3"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
