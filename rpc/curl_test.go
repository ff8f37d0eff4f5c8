package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// shownHeaders are those of an answer that the examples show.
var shownHeaders = []string{"Content-Type", "Location", "Retry-After", "Www-Authenticate"} // as they go out

// TestHTTPExamples plays the curl commands of the protocol, each script against a new hub, and
// compares the answers byte for byte.
func TestHTTPExamples(t *testing.T) {
	playScripts(t, httpExamples, playHTTP)
}

// playHTTP runs the commands of a script and returns the script with their answers.
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

// commands yields the comments and the commands of a script, with their line breaks.
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

// words splits a command like a shell: with quotes, variables, and lines that end with a backslash.
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
