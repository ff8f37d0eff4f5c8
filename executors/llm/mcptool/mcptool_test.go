package mcptool_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/mcptool"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// All pages of tools are listed, and listed again after a change.
func TestTools(t *testing.T) {
	t.Parallel()
	everyWay(t, func(w *world) {
		all, err := w.Tools(w.Context())
		if err != nil || len(all) != 17 {
			w.Fatalf("%d tools: %v", len(all), err)
		}
		s := w.named("echo").Spec()
		if s.Description != "Does echo." || string(s.Parameters) != `{"properties":{"x":{"type":"string"}},"type":"object"}` {
			w.Errorf("%+v %s", s, s.Parameters)
		}
		w.must("grow", "{}")
		w.until("the new tool is listed", func() bool {
			all, err := w.Tools(w.Context())
			return err == nil && slices.ContainsFunc(all, func(t tool.Tool) bool { return t.Spec().Name == "new" })
		})
		if got := w.must("new", "{}").Text; got != "new" {
			w.Error(got)
		}
	})
}

// Texts are returned unchanged and whole, structured content as JSON, and other files by name.
func TestResults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	everyWay(t, func(w *world) {
		for name, wanted := range map[string]string{
			"echo": `{"x":"1"}`, "structured": "seen\n{\"n\":1}", "both": `{ "n": 1 }`,
			"files": "[image, image/png, 5 bytes, not shown: its content is not a PNG, JPEG, GIF or WebP image]\n" +
				"[audio, audio/wav, 3 bytes, not shown]\n[resource file:///a: a, text/plain]\n" +
				"[resource file:///b, text/csv]\n1,2",
		} {
			if r := w.must(name, `{"x":"1"}`); r.Text != wanted || r.IsError {
				w.Errorf("%s returned %+v", name, r)
			}
		}
		if r := w.must("fails", "{}"); r.Text != "it did not work" || !r.IsError {
			w.Errorf("%+v", r)
		}
		r := w.must("large", "{}")
		if len(r.Text) != 2<<20 || strings.Trim(r.Text, "é") != "" {
			w.Errorf("%d bytes: %s", len(r.Text), r.Text[len(r.Text)-100:])
		}
	})
}

// A refused call reports the reason, and the connection stays open.
func TestRefused(t *testing.T) {
	t.Parallel()
	everyWay(t, func(w *world) {
		gone := w.named("echo")
		w.must("echo", "{}")
		_, err := gone.Run(w.Context(), &tool.Call{Arguments: []byte(`[1]`), Progress: func(tool.Progress) {}})
		if err != nil {
			lacks(w, "the error", err.Error(), "may or may not have taken effect")
		}
		w.must("echo", "{}")
	})
}

// Lines on stdout that are not messages are logged and skipped, before the first message and during
// calls. A line that can be the answer of a call ends the call.
func TestNoise(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mcptool.MaxMessage)
	for name, row := range map[string]struct{ noise, logged string }{
		"banner":             {"quirk server v1.2.3 on stdio\n\n", "quirk server v1.2.3 on stdio"},
		"carriage return":    {"Loading...\rLoaded.\r\n", "Loaded."},
		"terminal":           {"\x1b]0;npm\x07\x1b[1mstarting\x1b[0m\n", "starting"},
		"title":              {"\x1b]0;npm exec\x07", ""},
		"not UTF-8":          {"caf\xe9\n", "caf\uFFFD"},
		"log line":           {`{"level":"info","id":1,"msg":"ready"}` + "\n", "ready"},
		"log of a message":   {`> {"jsonrpc":"2.0","id":1,"result":{}}` + "\n", "result"},
		"null":               {"null\n", "null"},
		"number":             {"42\n", "42"},
		"text":               {`"listening"` + "\n", "listening"},
		"array":              {"[]\n[1,{\"a\":[2]}]\n", "[1,"},
		"nested array":       {`[[{"jsonrpc":"2.0","method":"x"}]]` + "\n", "[["},
		"half an object":     {"{\n  \"a\": 1\n}\n", "a"},
		"other version":      {`{"jsonrpc":"1.0","id":1,"result":{}}` + "\n", "1.0"},
		"answer without id":  {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}` + "\n", "-32700"},
		"unknown call":       {`{"jsonrpc":"2.0","id":9999,"result":{}}` + "\n", ""},
		"unknown method":     {`{"jsonrpc":"2.0","method":"notifications/custom"}` + "\n", ""},
		"batch":              {`[{"jsonrpc":"2.0","method":"notifications/custom"},7]` + "\n", ""},
		"long line":          {"dump " + long + "\n", "dump xxx"},
		"long log line":      {`{"level":"debug","msg":"` + long + `"}` + "\n", "debug"},
		"long log of a call": {`sent {"jsonrpc":"2.0","result":"` + long + `"}` + "\n", "sent"},
	} {
		t.Run(name, func(t *testing.T) {
			notes := filepath.Join(t.TempDir(), "notes")
			if err := os.WriteFile(notes+".noise", []byte(row.noise), 0o600); err != nil {
				t.Fatal(err)
			}
			w, err := connect(t, program(t, "noisy", notes), notes, mcptool.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := w.must("noise", "{}").Text; got != "done" {
				t.Errorf("the result is %q", got)
			}
			w.must("echo", "{}")
			contains(t, "the log", w.log.String(), row.logged)
			if row.logged != "" {
				contains(t, "the log", w.log.String(), "skipped a line on stdout")
			}
			lacks(t, "the log", w.log.String(), strings.Repeat("x", 2000))
		})
	}
	w := stdio(t, "serve")
	_, err := w.call("broken answer", "{}")
	if !errors.Is(err, llm.ErrTool) {
		t.Fatalf("a call with a broken answer returned %v", err)
	}
	contains(t, "the error", err.Error(), "not valid JSON-RPC", "out of paper")
	w = stdio(t, "serve")
	answer := `{"jsonrpc":"2.0","id":1,"result":"` + long + `"}` + "\n"
	if err := os.WriteFile(w.notes+".noise", []byte(answer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = w.call("noise", "{}"); err == nil {
		t.Fatal("a call succeeded although an answer was too long")
	}
	contains(t, "the error", err.Error(), "may or may not have taken effect", "more than 16777216 bytes")
	w.must("echo", "{}")
}

// Progress is reported to its call.
func TestProgress(t *testing.T) {
	t.Parallel()
	everyWay(t, func(w *world) {
		got := make(chan tool.Progress, 10)
		r, err := w.named("progress").Run(w.Context(), &tool.Call{Arguments: []byte("{}"), Progress: func(p tool.Progress) {
			if got <- p; p.Done == 3 {
				note(w.notes+".seen", "3")
			}
		}})
		if err != nil || r.Text != "done" {
			w.Fatal(r, err)
		}
		if p := <-got; len(got) != 2 || p != (tool.Progress{Done: 1, Total: 3, Text: "on it"}) {
			w.Errorf("%+v", p)
		}
	})
}

// A call ends with its ctx, here and at the server, and the connection stays open.
func TestCanceled(t *testing.T) {
	t.Parallel()
	everyWay(t, func(w *world) {
		ctx, cancel := ending(w)
		one := w.named("wait")
		go func() {
			w.until("the call is there", func() bool { return w.noted("wait") == 1 })
			cancel()
		}()
		if _, err := one.Run(ctx, &tool.Call{Arguments: []byte("{}"), Progress: func(tool.Progress) {}}); !errors.Is(
			err, context.Canceled) {
			w.Error(err)
		}
		w.until("the server has heard of it", func() bool { return w.deaf || w.noted("canceled") == 1 })
		w.must("echo", "{}")
	})
}

// A call on a lost connection is not repeated. The next call uses a new connection.
func TestLost(t *testing.T) {
	t.Parallel()
	w := stdio(t, "serve")
	_, err := w.call("exit", "{}")
	if !errors.Is(err, llm.ErrTool) {
		t.Fatal(err)
	}
	contains(t, "the error", err.Error(), "may or may not have taken effect")
	if n := w.noted("exit"); n != 1 {
		t.Errorf("it was called %d times", n)
	}
	w.must("echo", "{}")
	if n := w.noted("echo"); n != 1 {
		t.Errorf("the next was called %d times", n)
	}
}

// A server without the session did not process the call, so the call is repeated.
func TestForgotten(t *testing.T) {
	t.Parallel()
	var forgets atomic.Bool
	var refused atomic.Int32
	w := over(t, false, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") == "" || !forgets.CompareAndSwap(true, false) {
			return false
		}
		refused.Add(1)
		http.NotFound(rw, r)
		return true
	})
	w.must("echo", "{}")
	one := w.named("echo")
	forgets.Store(true)
	r, err := one.Run(t.Context(), &tool.Call{Arguments: []byte("{}"), Progress: func(tool.Progress) {}})
	if refused.Load() == 0 {
		t.Skip("the protocol that was spoken has no sessions")
	}
	if err != nil || r.Text != "{}" || w.noted("echo") != 2 {
		t.Errorf("%v %v, called %d times", r, err, w.noted("echo"))
	}
}

// Over HTTP, a call without an answer is not repeated either.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	var breaks atomic.Bool
	var calls atomic.Int32
	w := over(t, false, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !breaks.Load() {
			return false
		}
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	one := w.named("echo")
	breaks.Store(true)
	_, err := one.Run(t.Context(), &tool.Call{Arguments: []byte("{}"), Progress: func(tool.Progress) {}})
	if err == nil || calls.Load() != 1 {
		t.Fatalf("%v, sent %d times", err, calls.Load())
	}
	contains(t, "the error", err.Error(), "may or may not have taken effect")
	breaks.Store(false)
	w.must("echo", "{}")
}

// A call with a broken answer stream ends.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	var breaks atomic.Bool
	w := over(t, false, func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !breaks.Load() {
			return false
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(rw, "event: message\ndata: {\"jsonrpc\":")
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	one := w.named("echo")
	breaks.Store(true)
	_, err := one.Run(t.Context(), &tool.Call{Arguments: []byte("{}"), Progress: func(tool.Progress) {}})
	if err == nil {
		t.Fatal("it has a result")
	}
	contains(t, "the error", err.Error(), "may or may not have taken effect")
	breaks.Store(false)
	w.must("echo", "{}")
}

// Close stops all processes of a command, even if it ignores signals.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"serve", "deaf"} {
		t.Run(name, func(t *testing.T) {
			w := stdio(t, name)
			pid, err := strconv.Atoi(w.must("fork", "{}").Text)
			if err != nil || !lives(pid) {
				t.Fatal(pid, err)
			}
			if err := errors.Join(w.Close(), w.Close()); err != nil {
				t.Error(err)
			}
			if lives(pid) {
				t.Errorf("process %d lives", pid)
			}
			if _, err := w.Tools(t.Context()); err == nil {
				t.Error("a closed connection has tools")
			}
		})
	}
}

// Close cancels calls in progress.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	everyWay(t, func(w *world) {
		one := w.named("wait")
		ended := make(chan error, 1)
		go func() {
			_, err := one.Run(context.Background(), &tool.Call{Arguments: []byte("{}"), Progress: func(tool.Progress) {}})
			ended <- err
		}()
		w.until("the call is there", func() bool { return w.noted("wait") == 1 })
		if err := w.Close(); err != nil {
			w.Error(err)
		}
		select {
		case err := <-ended:
			if err == nil {
				w.Error("it has a result")
			}
		case <-time.After(patience):
			w.Fatal("the call does not end")
		}
	})
}

// A program that does not speak MCP is reported by name and in time, and no process is left.
func TestNoServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for name, words := range map[string]string{"silent": "no connection within", "babble": "mcp server s: connect",
		"fail": "mcp server s: connect"} {
		t.Run(name, func(t *testing.T) {
			notes := filepath.Join(t.TempDir(), "notes")
			s := program(t, name, notes)
			s.StartTimeout = "2s"
			w, err := connect(t, s, notes, mcptool.Options{})
			if err == nil {
				t.Fatal("Connect succeeded")
			}
			contains(t, "the error", err.Error(), words)
			if b, err := os.ReadFile(notes); err == nil {
				var pid int
				if _, err := fmt.Sscanf(string(b), "pid %d", &pid); err != nil || lives(pid) {
					t.Errorf("process %d lives: %v", pid, err)
				}
			}
			if name == "fail" {
				w.until("stderr is in the log", func() bool { return strings.Contains(w.log.String(), "no such database") })
			}
		})
	}
	_, err := mcptool.Connect(t.Context(), "s", parley.MCPServer{Command: "no-such-program-anywhere"}, nil)
	if err == nil {
		t.Fatal("a command that is not there runs")
	}
	contains(t, "the error", err.Error(), "mcp server s: start no-such-program-anywhere")
	_, err = mcptool.Connect(t.Context(), "s", parley.MCPServer{URL: "http://127.0.0.1:1/"}, nil)
	if err == nil {
		t.Fatal("an address where nobody is answers")
	}
	contains(t, "the error", err.Error(), "mcp server s: connect")
}

// ${NAME} is replaced in args, env, url and headers. Its value is in no error and no log.
func TestVariables(t *testing.T) {
	const secret = "s3cret/value+1"
	getenv := func(name string) string {
		return map[string]string{"SECRET": secret, "NOTES": filepath.Join(t.TempDir(), "notes")}[name]
	}
	t.Run("command", func(t *testing.T) {
		t.Setenv("PARLEY_TOKEN", "not-for-servers")
		s := program(t, "serve", "${NOTES}")
		s.Env = map[string]string{"TOKEN": "t-${SECRET}"}
		w, err := connect(t, s, "", mcptool.Options{Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		env := w.must("environment", "{}").Text
		contains(t, "the environment", env, "TOKEN=t-"+secret, "PATH=")
		lacks(t, "the environment", env, "not-for-servers")
		w.must("echo", "{}")
		w.must("stderr", "{}")
		w.until("stderr is in the log", func() bool { return strings.Contains(w.log.String(), "the token is t-${SECRET}") })
		lacks(t, "the log", w.log.String(), secret, strings.Repeat("x", 2000))
	})
	t.Run("url", func(t *testing.T) {
		var seen atomic.Value
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			seen.Store(r.Header.Get("Authorization") + " " + r.URL.Query().Get("key"))
			http.Error(rw, "no", http.StatusForbidden)
		}))
		url := server.URL + "/?key=k${SECRET}"
		s := parley.MCPServer{URL: url, Headers: map[string]string{"Authorization": "Bearer ${SECRET}"}}
		_, err := connect(t, s, "", mcptool.Options{Getenv: getenv})
		if err == nil || seen.Load() != "Bearer "+secret+" k"+strings.ReplaceAll(secret, "+", " ") {
			t.Fatalf("%v: the server saw %v", err, seen.Load())
		}
		server.Close()
		_, err = connect(t, s, "", mcptool.Options{Getenv: getenv})
		if err == nil {
			t.Fatal("Connect succeeded")
		}
		lacks(t, "the error", err.Error(), secret)
		contains(t, "the error", err.Error(), "${SECRET}")
	})
	for where, s := range map[string]parley.MCPServer{
		"args[0]":    {Command: "c", Args: []string{"${NONE}"}},
		"env.A":      {Command: "c", Env: map[string]string{"A": "${NONE}"}},
		"url":        {URL: "https://h/${NONE}"},
		"headers.H":  {URL: "https://h/", Headers: map[string]string{"H": "x${NONE}"}},
		"no address": {URL: "${SECRET}"},
	} {
		_, err := mcptool.Connect(t.Context(), "s", s, &mcptool.Options{Getenv: getenv})
		switch {
		case err == nil:
			t.Fatalf("%s: Connect succeeded", where)
		case where == "no address":
			contains(t, where, err.Error(), "mcp server s: url is ${SECRET}")
		case !errors.Is(err, mcptool.ErrUnknownVariable):
			t.Errorf("%s: %v", where, err)
		default:
			contains(t, where, err.Error(), where+": ${NONE} is not set")
		}
	}
}

// All forms of variables are expanded in all fields. cwd and env_file are relative to the directory
// of the agent file.
func TestEntryForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := "\uFEFF# comment\r\nexport FROM_FILE=\"a b\\nc\"\r\nQUOTED='x # y'\nPLAIN=z # w\nA=no\nnot a line\n1=2\n"
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s := program(t, "serve", notes)
	values := map[string]string{"KEY": "secret-1", "SELF": s.Command, "DIR": "work", "EMPTY": ""}
	s.Command, s.Cwd, s.EnvFile = "${SELF}", "${env:DIR}", "${NONE:-.env}"
	s.Env = map[string]string{
		"A": "${env:KEY}", "B": "${KEY:-none}", "C": "${NONE:-none}", "D": "<${KEY}>", "E": "${EMPTY:-}", "F": "$KEY",
		"G": "${env:NONE:-a:-b}",
	}
	w, err := connect(t, s, notes, mcptool.Options{Dir: dir, Getenv: func(name string) string { return values[name] }})
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + w.must("environment", "{}").Text + "\n"
	contains(t, "the environment", got, "\nA=secret-1\n", "\nB=secret-1\n", "\nC=none\n",
		"\nD=<secret-1>\n", "\nE=\n", "\nF=$KEY\n", "\nG=a:-b\n",
		"\nFROM_FILE=a b\nc\n", "\nQUOTED=x # y\n", "\nPLAIN=z\n",
		"\nPWD="+filepath.Join(dir, "work")+"\n")
}

// A server that has only the HTTP+SSE transport of 2024-11-05 is used after it refused the current
// one, or at once if the type says so. The error of a server has its status and text.
func TestSSE(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "http", "sse"} {
		for _, status := range []int{400, 404, 405} {
			notes := filepath.Join(t.TempDir(), "notes")
			mcpServer := newServer(notes)
			handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return mcpServer }, nil)
			var posts atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.RawQuery == "" {
					posts.Add(1)
					http.Error(w, "no POST here", status)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			w, err := connect(t, parley.MCPServer{URL: server.URL, Type: kind}, notes, mcptool.Options{})
			if err != nil {
				t.Fatalf("type %q, status %d: %v", kind, status, err)
			}
			if got := w.must("echo", `{"x":"1"}`).Text; got != `{"x":"1"}` || (posts.Load() > 0) != (kind != "sse") {
				t.Errorf("type %q, status %d: the result is %q after %d refused requests", kind, status, got, posts.Load())
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for status, streams := range map[int]bool{401: false, 404: true, 500: false} {
		var gets atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				gets.Add(1)
			}
			http.Error(w, "out of paper", status)
		}))
		_, err := connect(t, parley.MCPServer{URL: server.URL}, "", mcptool.Options{})
		server.Close()
		if err == nil || (gets.Load() > 0) != streams {
			t.Fatalf("status %d: the error is %v after %d streams", status, err, gets.Load())
		}
		contains(t, "the error", err.Error(), fmt.Sprintf("HTTP status %d: out of paper", status))
	}
}

// Headers are not sent to the target of a redirect.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	if _, err := mcptool.Connect(t.Context(), "s", parley.MCPServer{URL: server.URL}, nil); err == nil || reached.Load() {
		t.Errorf("%v, the other was reached: %v", err, reached.Load())
	}
}

// An error of the server is reported as such, even with a code that the SDK uses for closed
// connections.
func TestServersOwnErrors(t *testing.T) {
	t.Parallel()
	everyWay(t, func(w *world) {
		for _, code := range []int{-32000, -32003, -32004, -32005, -32602, 7} {
			_, err := w.call("limited", fmt.Sprintf(`{"code":%d}`, code))
			if !errors.Is(err, llm.ErrTool) || !strings.HasSuffix(err.Error(), "refused the call of limited: too many calls") {
				w.Errorf("%d: %v", code, err)
			}
		}
		w.must("echo", "{}")
	})
}
