package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConsoleShare opens pages of `parley share` from files, as who gets them by mail does: a whole
// one says so, one that someone has changed names the first event that is not what was written, and
// one of who does not see everything claims nothing. What others said does nothing in it.
func TestConsoleShare(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("case", "The case "+hostile, nil, "ann:human", "ben:human")
	w.say("ann", id, "I claim this: "+hostile)
	w.say("ben", id, "and \u202eesrever\u202c, javascript:alert(1)")
	w.call("ann", "putAttachment", map[string]any{"conversationId": id, "data": []byte("the file"), "name": "a.txt",
		"mediaType": "text/plain"})
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.html")
	share(t, w, id, whole)
	var shown struct{ HeadHash string }
	if err := json.Unmarshal(w.call("admin", "getConversation", map[string]any{"conversationId": id, "limit": 1}),
		&shown); err != nil {
		t.Fatal(err)
	}

	b := w.tab()
	b.visit("file://" + whole)
	b.waitText("#verdict.whole", "Whole and unchanged: 4 events give the head hash.")
	if got := b.text("#head"); got != shown.HeadHash {
		t.Errorf("the page tells the head hash %s, and the hub %s", got, shown.HeadHash)
	}
	b.waitText("#seq-2 .words", hostile)
	b.waitText("#seq-3 .words", "\u27e8U+202E\u27e9esrever")
	if title := b.eval("document.title"); title != "The case "+hostile {
		t.Errorf("the title is %q", title)
	}
	if n := b.eval("document.querySelectorAll('main img, main script, main iframe, main svg').length"); n != "0" {
		t.Errorf("%s elements were made of what somebody has said", n)
	}
	b.eval(`(() => {
		window.saved = '';
		HTMLAnchorElement.prototype.click = function () { fetchText(this.href).then((text) => { window.saved = this.download + ': ' + text; }); };
		async function fetchText(url) { return url.startsWith('blob:') ? 'blob' : url; }
		return '';
	})()`)
	b.click("#seq-4 .files button")
	b.until("window.saved === 'a.txt: blob'")

	for name, change := range map[string]struct{ from, to, want string }{
		"one byte":        {`I claim this`, `I claim thiz`, "event 2 is the first that is wrong"},
		"the last record": {`esrever`, `esrevor`, "event 3 is the first that is wrong"},
		"the file":        {`"latestSeq":4`, `"latestSeq":5`, "event 5 is the first that is wrong, it is missing"},
		"the head": {`"headHash":"` + shown.HeadHash[:6], `"headHash":"` + flipped(shown.HeadHash[:6]),
			"the chain does not end at the head hash"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".html")
			replaceIn(t, whole, changed, change.from, change.to)
			b.visit("file://" + changed)
			b.waitText("#verdict.broken", change.want)
		})
	}

	// A text for ben only: ann does not see it in the page that she shares, so the chain cannot be
	// checked.
	w.call("ann", "createConversation", map[string]any{"conversationId": "gap", "participants": []map[string]string{
		{"id": "ann", "kind": "human"}, {"id": "ben", "kind": "human", "private": "the secret"},
	}})
	w.say("ann", "gap", "hello")
	part := filepath.Join(dir, "part.html")
	share(t, w, "gap", part, "PARLEY_TOKEN="+w.token(visitor{Agent: "ann", Scopes: []string{"read"}}))
	b.visit("file://" + part)
	b.waitText("#verdict.hidden", "1 event is not shown to who shared this: the chain cannot be checked behind event 1.")
	b.waitText("#seq-3", "hello")
}

// TestConsoleShareOfFork writes a fork as a file. Its events result in the hash that it names for
// the other conversation.
func TestConsoleShareOfFork(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	id := w.create("first", "", nil, "ann:human", "ben:human")
	w.say("ann", id, "one")
	w.say("ben", id, "two")
	w.call("ann", "forkConversation", map[string]any{"conversationId": id, "seq": 2, "forkId": "second"})
	file := filepath.Join(t.TempDir(), "fork.html")
	share(t, w, "second", file)
	b := w.tab()
	b.visit("file://" + file)
	b.waitText("#verdict.whole", "3 events")
	b.waitText(".fork", "A fork of first, up to its event 2. Its hash there is that of these events.")

	changed := file + ".changed.html"
	replaceIn(t, file, changed, `\"fork\":{\"conversationId\":\"first\"`, `\"fork\":{\"conversationId\":\"worst\"`)
	b.visit("file://" + changed)
	b.waitText("#verdict.broken", "event 3 is the first that is wrong")
	b.waitText(".fork.broken", "Its hash there is not that of these events.")
}

// share writes a conversation to a file, with variables added to the environment.
func share(t *testing.T, w *consoleWorld, id, file string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), string(program), "share", id, "-o", file)
	cmd.Env = append(hubEnv(w.hub), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("parley share: %v\n%s", err, out)
	}
}

// replaceIn copies a page with the first of one text replaced by another.
func replaceIn(t *testing.T, file, to, from, by string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(page, []byte(`id="shared">`))
	head, data := page[:at], page[at:]
	if !bytes.Contains(data, []byte(from)) {
		t.Fatalf("the page has no %s", from)
	}
	if err := os.WriteFile(to, fmt.Appendf(nil, "%s%s", head, bytes.Replace(data, []byte(from), []byte(by), 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// flipped returns the string with other digits.
func flipped(hex string) string {
	return strings.Map(func(r rune) rune {
		if r == 'a' {
			return 'b'
		}
		return 'a'
	}, hex)
}

// TestConsoleChain plays testdata/console/share.mjs: hashes, chains and schemas without a page.
func TestConsoleChain(t *testing.T) {
	t.Parallel()
	node := require(t, "node")
	page, err := filepath.Abs(filepath.Join("..", "adapters", "console", "page", "js"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--no-warnings", "--test", "--test-reporter=spec",
		filepath.Join("testdata", "console", "share.mjs"))
	cmd.Env = append(os.Environ(), "PAGE="+(&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, bytes.TrimSpace(out))
	}
}
