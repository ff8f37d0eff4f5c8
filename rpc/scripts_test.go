package rpc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"
)

const scriptDirectory = "testdata/protocol"

// The kinds of scripts: frames of WebSockets, and curl commands.
const (
	transcripts  = "transcript"
	httpExamples = "http"
)

// A script is a behavior of the protocol that a test plays. It is a file of testdata/protocol: a
// description, and one part with the requests and their replies.
type script struct {
	name string // of the file, without .txtar
	kind string // of the part
	text string // of the part
}

// readScripts returns the scripts of a kind, in the order of their names.
func readScripts(t testing.TB, kind string) []script {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scriptDirectory, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var scripts []script
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Comment) == 0 || len(archive.Files) != 1 {
			t.Fatalf("%s has %d parts and %d bytes of description", path, len(archive.Files), len(archive.Comment))
		}
		part := archive.Files[0]
		if !slices.Contains([]string{transcripts, httpExamples}, part.Name) {
			t.Fatalf("%s has a part %q", path, part.Name)
		}
		if part.Name == kind {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			scripts = append(scripts, script{name, kind, string(part.Data)})
		}
	}
	if len(scripts) == 0 {
		t.Fatalf("no script in %s has a part %q", scriptDirectory, kind)
	}
	return scripts
}

// playScripts plays each script of a kind and compares its replies byte for byte. With -update it
// rewrites the replies.
func playScripts(t *testing.T, kind string, play func(t *testing.T, text string) string) {
	t.Helper()
	for _, s := range readScripts(t, kind) {
		t.Run(s.name, func(t *testing.T) {
			got := s.text
			synctest.Test(t, func(t *testing.T) { got = play(t, s.text) })
			switch {
			case got == s.text:
			case *update:
				s.write(t, got)
			default:
				t.Errorf("the replies differ (-update rewrites them):\n%s", firstDifference(s.text, got))
			}
		})
	}
}

// write replaces the text of the script in its file.
func (s script) write(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(scriptDirectory, s.name+".txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive.Files[0].Data = []byte(text)
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

var scriptLink = regexp.MustCompile(`\]\(rpc/testdata/protocol/([a-z0-9-]+)\.txtar\)`)

// TestProtocolLinksItsScripts requires that protocol.md links every script, and no missing one.
func TestProtocolLinksItsScripts(t *testing.T) {
	linked := map[string]bool{}
	for _, m := range scriptLink.FindAllStringSubmatch(readFile(t, protocolFile), -1) {
		linked[m[1]] = true
	}
	for _, s := range slices.Concat(readScripts(t, transcripts), readScripts(t, httpExamples)) {
		if !linked[s.name] {
			t.Errorf("protocol.md does not link %s/%s.txtar", scriptDirectory, s.name)
		}
		delete(linked, s.name)
	}
	for name := range linked {
		t.Errorf("protocol.md links the missing file %s/%s.txtar", scriptDirectory, name)
	}
}

var excerptBlock = regexp.MustCompile("(?ms)^```(transcript|http) ([a-z0-9-]+)\n(.*?)^```\n")

// TestExamplesAreExcerpts compares the examples of protocol.md with the scripts that they name. The
// lines of an example are lines of the script, in the same order. In a line, "..." matches any
// text. An indented line continues the one before.
func TestExamplesAreExcerpts(t *testing.T) {
	scripts := map[string]script{}
	for _, s := range slices.Concat(readScripts(t, transcripts), readScripts(t, httpExamples)) {
		scripts[s.name] = s
	}
	blocks := excerptBlock.FindAllStringSubmatch(readFile(t, protocolFile), -1)
	if len(blocks) == 0 {
		t.Fatal("protocol.md has no examples")
	}
	for _, m := range blocks {
		kind, name, text := m[1], m[2], m[3]
		s, ok := scripts[name]
		if !ok || s.kind != kind {
			t.Errorf("protocol.md has an example of %s, which is not a script of kind %s", name, kind)
			continue
		}
		rest := joinLines(s.text)
		for line := range strings.Lines(joinLines(text)) {
			at := excerptPattern(line).FindStringIndex(rest)
			if at == nil {
				t.Errorf("this line of an example is missing in %s.txtar, or comes too early:\n%s", name, line)
				break
			}
			rest = rest[at[1]:]
		}
	}
}

var continued = regexp.MustCompile(`( \\)?\n +`)

// joinLines joins each line with its indented continuations, and with those after a backslash.
func joinLines(text string) string {
	return continued.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, " ") {
			return " " // between two arguments of a command
		}
		return ""
	})
}

// excerptPattern matches a whole line of a script.
func excerptPattern(line string) *regexp.Regexp {
	parts := strings.Split(strings.TrimSuffix(line, "\n"), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?m)^` + strings.Join(parts, ".*") + `$`)
}

// maxProtocolBytes is the most that a person reads as one document.
const maxProtocolBytes = 120 << 10

// TestProtocolFitsOneReading requires that protocol.md stays short. Details belong to the scripts
// and to docs/reference.
func TestProtocolFitsOneReading(t *testing.T) {
	if n := len(readFile(t, protocolFile)); n > maxProtocolBytes {
		t.Errorf("protocol.md has %d bytes; at most %d are wanted", n, maxProtocolBytes)
	}
}
