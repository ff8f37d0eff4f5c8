package mcptool_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/mcptool"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/executors/process"
)

// patience is how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// world is a server and a connection to it.
type world struct {
	*testing.T
	tool.Server
	notes string // file with the notes of the server
	deaf  bool   // the server does not see canceled calls, because the SDK does not support that without sessions
	log   *buffer
}

// buffer is a writer that may be read at any time.
type buffer struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// program returns the config of a command of these tests.
func program(t testing.TB, name, notes string) parley.MCPServer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return parley.MCPServer{Command: self, Args: []string{"program", name, notes}}
}

// connect connects to a server until the test ends.
func connect(t *testing.T, s parley.MCPServer, notes string, o mcptool.Options) (*world, error) {
	t.Helper()
	pool := &process.Pool{}
	t.Cleanup(pool.Close)
	w := &world{T: t, notes: notes, log: &buffer{}}
	o.Processes, o.Logger = pool, slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server, err := mcptool.Connect(t.Context(), "s", s, &o)
	if err != nil {
		return w, err
	}
	w.Server = server
	t.Cleanup(func() { _ = server.Close() })
	return w, nil
}

// stdio starts a command as server.
func stdio(t *testing.T, name string) *world {
	t.Helper()
	notes := filepath.Join(t.TempDir(), "notes")
	w, err := connect(t, program(t, name, notes), notes, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// over serves over HTTP. see, which may be nil, gets each request first and reports whether it
// answered.
func over(t *testing.T, stateless bool, see func(http.ResponseWriter, *http.Request) bool) *world {
	t.Helper()
	notes := filepath.Join(t.TempDir(), "notes")
	s := newServer(notes)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: stateless})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if see == nil || !see(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w, err := connect(t, parley.MCPServer{URL: server.URL}, notes, mcptool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.deaf = stateless
	t.Cleanup(func() { note(notes+".seen", "the end") }) // before the server is closed, which waits for its calls
	return w
}

// everyWay runs a test over stdio and over HTTP.
func everyWay(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("stdio", func(t *testing.T) { test(stdio(t, "serve")) })
	t.Run("http", func(t *testing.T) { test(over(t, false, nil)) })
	t.Run("http stateless", func(t *testing.T) { test(over(t, true, nil)) })
}

// named returns a tool of the server.
func (w *world) named(name string) tool.Tool {
	w.Helper()
	all, err := w.Tools(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, t := range all {
		if t.Spec().Name == name {
			return t
		}
	}
	w.Fatalf("there is no %s", name)
	return nil
}

// call calls a tool.
func (w *world) call(name, arguments string) (*tool.Result, error) {
	w.Helper()
	return w.named(name).Run(w.Context(), &tool.Call{Arguments: []byte(arguments), Progress: func(tool.Progress) {}})
}

// must is call without an error.
func (w *world) must(name, arguments string) *tool.Result {
	w.Helper()
	r, err := w.call(name, arguments)
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	return r
}

// noted counts the matching lines of the notes.
func (w *world) noted(line string) (n int) {
	w.Helper()
	b, err := os.ReadFile(w.notes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if strings.TrimSpace(l) == line {
			n++
		}
	}
	return n
}

// until waits until a condition is true.
func (w *world) until(what string, so func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if so() {
			return
		}
	}
	w.Fatalf("not so: %s", what)
}

// lives reports whether a process exists.
func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }

func contains(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s is\n%.2000s\nwant to contain\n%s", what, got, p)
		}
	}
}

func lacks(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(got, p) {
			t.Errorf("%s is\n%.2000s\nwant not to contain\n%s", what, got, p)
		}
	}
}

// ending returns a ctx that the test cancels.
func ending(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
