package conformance

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// reload reads the page again.
func (b *tab) reload() {
	b.t.Helper()
	b.eval("(window.before = true, location.reload() ?? '')")
	b.until("!window.before && document.body?.classList.contains('signed-in')")
}

// TestConsoleTheme: the button changes the theme, and a reload keeps it.
func TestConsoleTheme(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	b := w.open(visitor{}, "")
	look := func() string { return b.eval("getComputedStyle(document.body).backgroundColor") }
	first := look()
	says := b.text("#theme")
	b.click("#theme")
	b.until(`getComputedStyle(document.body).backgroundColor !== "` + first + `"`)
	if now := b.text("#theme"); now == says {
		t.Errorf("the button still says %q", now)
	}
	chosen := look()
	b.reload()
	b.wait("parley-list")
	if again := look(); again != chosen {
		t.Errorf("a reload shows %s, not %s", again, chosen)
	}
	b.click("#theme")
	b.until(`getComputedStyle(document.body).backgroundColor === "` + first + `"`)
}

// TestConsoleBehindAProxy: a proxy may serve the hub below a path. The page finds its files and the
// hub there.
func TestConsoleBehindAProxy(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "The case", nil, "ann:human", "bob:human")
	hub, err := url.Parse(w.hub.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/hub/", http.StripPrefix("/hub", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(hub)
		r.Out.Host = r.In.Host
	}}))
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)

	b := w.tab()
	_, signIn, _ := strings.Cut(w.linkFrom(front.URL, visitor{}, "/c/case"), "#")
	b.visit(front.URL + "/hub/console/#" + signIn) // with a slash it leads to the page, and keeps what is behind the #
	b.waitText("parley-conversation", "The case")
	b.until(`location.pathname === "/hub/console"`)
	b.press("gl")
	b.waitText("tr[data-id=case] .floor", "ann")
	w.say("ann", "case", "after")
	b.waitText("tr[data-id=case] .floor", "bob")
	b.reload()
	b.waitText("tr[data-id=case] .floor", "bob")
}

// TestConsoleShowsTheHidden: a character that hides or turns the text around it is shown as a mark,
// everywhere. Characters that belong to the spelling of a word or to an emoji remain.
func TestConsoleShowsTheHidden(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "\u202egnp.exe", nil, "ann:human", "bob:human")
	b := w.open(visitor{}, "")
	b.waitText("tr[data-id=case] a", "⟨U+202E⟩gnp.exe")
	b.eval(`import('./console/js/format.js').then((m) => { window.format = m; }) ?? ''`)
	b.until("window.format")
	for text, want := range map[string]string{
		`\u202eabc`: "⟨U+202E⟩abc", `abc\u2066`: "abc⟨U+2066⟩", `a\u0000b`: "a⟨U+0000⟩b", `\u001b[2J`: "⟨U+001B⟩[2J",
		`\u200fa`: "⟨U+200F⟩a", `\u061ca`: "⟨U+061C⟩a",
		`a\u200bb`: "a⟨U+200B⟩b", `\ufeffa`: "⟨U+FEFF⟩a", `a\u2028b`: "a⟨U+2028⟩b", `\u{e0041}`: "⟨U+E0041⟩",
		`\ud800`: "⟨U+D800⟩", `a\u00adb`: "a⟨U+00AD⟩b", `a\rb`: "a⟨U+000D⟩b",
		`a\r\nb\tc`: "a\nb\tc", `\u200dabc`: "⟨U+200D⟩abc", `abc\u200d`: "abc⟨U+200D⟩", `pay\u200dpal`: "pay⟨U+200D⟩pal",
		`\u0430\u200c\u0431`:       "а⟨U+200C⟩б",
		`\u0645\u06cc\u200c\u062e`: "\u0645\u06cc\u200c\u062e", `\ud83d\udc68\u200d\ud83d\udc69`: "\U0001f468\u200d\U0001f469", `\ud83c\udff3\ufe0f\u200d\ud83c\udf08`: "\U0001f3f3\ufe0f\u200d\U0001f308",
		`\ud83d\udc69\ud83c\udffd\u200d\ud83d\ude80`: "\U0001f469\U0001f3fd\u200d\U0001f680", `plain`: "plain", ``: "",
	} {
		if got := b.eval("format.visible('" + text + "')"); got != want {
			t.Errorf("visible(%s) is %q, want %q", text, got, want)
		}
	}
}
