package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

var httpBlock = regexp.MustCompile("(?ms)^```http ([a-z0-9 -]+)\n(.*?)^```\n")

// shownHeaders are those of an answer that the examples show.
var shownHeaders = []string{"Content-Type", "Location", "Retry-After", "Www-Authenticate"} // as they go out

// TestHTTPExamples plays the examples of plain HTTP in protocol.md, each against a fresh hub, and
// compares the answers byte for byte.
func TestHTTPExamples(t *testing.T) {
	doc, err := os.ReadFile(protocolFile)
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	fresh := httpBlock.ReplaceAllFunc(doc, func(block []byte) []byte {
		m := httpBlock.FindSubmatch(block)
		name, text := string(m[1]), string(m[2])
		got := text
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { got = playHTTP(t, text) })
			if got != text && !*update {
				t.Errorf("played, it goes otherwise (-update rewrites it):\n%s", firstDifference(text, got))
			}
		})
		played++
		return fmt.Appendf(nil, "```http %s\n%s```\n", name, got)
	})
	if played < 3 {
		t.Errorf("protocol.md has %d examples of HTTP", played)
	}
	if *update && !bytes.Equal(fresh, doc) {
		if err := os.WriteFile(protocolFile, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// playHTTP runs the commands of a block and returns the block with their answers.
func playHTTP(t *testing.T, text string) string {
	w := newWorld(t, nil)
	var out strings.Builder
	for command := range commands(text) {
		out.WriteString(command)
		if line, ok := strings.CutPrefix(command, "$ "); ok {
			out.WriteString(w.curl(words(t, line)) + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// commands yields the comments and the commands of a block, with their line breaks.
func commands(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var command string
		for line := range strings.Lines(text) {
			begins := strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "# ")
			if command == "" && !begins {
				continue // of an answer
			}
			command += line
			if strings.HasPrefix(command, "$ ") && strings.HasSuffix(line, "\\\n") {
				continue
			}
			if !yield(command) {
				return
			}
			command = ""
		}
	}
}

// words splits a command as a shell does that knows quotes, variables, and lines that go on.
func words(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	var word strings.Builder
	began, quote := false, rune(0)
	for _, c := range strings.ReplaceAll(line, "\\\n", " ") {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, began = c, true
		case quote == 0 && (c == ' ' || c == '\n'):
			if began {
				out = append(out, word.String())
			}
			word.Reset()
			began = false
		case quote != '\'' && c == '$':
			began = true
			word.WriteRune(variable)
		default:
			began = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || began {
		t.Fatalf("the command does not end: %s", line)
	}
	return out
}

// variable replaces the dollar of a variable.
const variable = '\x00'

// curl interprets the curl arguments of the examples. It returns the output of curl, without most
// headers.
func (w *world) curl(args []string) string {
	w.t.Helper()
	verb, target, body := "", "", ""
	header := http.Header{}
	known := strings.NewReplacer(string(variable)+"HUB", "http://"+w.addr, string(variable)+"TOKEN", devToken)
	for i := range args {
		args[i] = known.Replace(args[i])
	}
	if args[0] != "curl" {
		w.t.Fatalf("no curl: %q", args)
	}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		switch option := args[0]; {
		case option == "-X", option == "-H", option == "-d":
			args = args[1:]
			switch option {
			case "-X":
				verb = args[0]
			case "-H":
				name, value, _ := strings.Cut(args[0], ": ")
				header.Add(name, value)
			case "-d":
				body = args[0]
			}
		case option == "-sSi", option == "-sSiN":
		case strings.HasPrefix(option, "http"):
			target = option
		default:
			w.t.Fatalf("curl %s is not known here", option)
		}
	}
	if verb == "" {
		verb = http.MethodGet
		if body != "" {
			verb = http.MethodPost
		}
	}
	if body != "" && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return printed(w.t, w.do(header, verb, strings.TrimPrefix(target, "http://"+w.addr), body))
}

// printed is an answer as curl -i prints it, with the headers that are shown.
func printed(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", resp.Proto, resp.Status)
	for _, name := range shownHeaders {
		if value := resp.Header.Get(name); value != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 0 {
		fmt.Fprintf(&out, "\n%s\n", bytes.TrimRight(body, "\n"))
	}
	return out.String()
}
