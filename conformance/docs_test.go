package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// The documents mark their blocks of shell commands by the words after the fence:
//
//	sh          the test runs the block
//	sh norun    the test checks the syntax only: the block needs root, a key, or other machines, or has placeholders
//
// A comment <!-- run: ... --> has commands that only the test runs. They prepare files, or replace placeholders.
var shellBlock = regexp.MustCompile("(?ms)^(?:```(sh[^\n]*)\n(.*?)^```$|<!-- run:\n(.*?)^-->$)")

// A docBlock is one block of shell commands of a document.
type docBlock struct {
	line   int
	norun  bool
	hidden bool // a preparation
	text   string
}

// docPages are the documents whose commands are run.
func docPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				pages = append(pages, strings.TrimPrefix(filepath.ToSlash(path), "../"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

func docBlocks(t *testing.T, page string) []docBlock {
	t.Helper()
	text := read(t, filepath.Join("..", filepath.FromSlash(page)))
	var all []docBlock
	for _, m := range shellBlock.FindAllStringSubmatchIndex(text, -1) {
		b := docBlock{line: 1 + strings.Count(text[:m[0]], "\n")}
		if m[2] < 0 {
			b.hidden, b.text = true, text[m[6]:m[7]]
		} else {
			b.text = text[m[4]:m[5]]
			switch info := text[m[2]:m[3]]; info {
			case "sh":
			case "sh norun":
				b.norun = true
			default:
				t.Errorf("%s:%d: unknown block %q: expected sh or sh norun", page, b.line, info)
			}
		}
		all = append(all, b)
	}
	hidden := 0
	for _, b := range all {
		if b.hidden {
			hidden++
		}
	}
	if n := strings.Count(text, "<!-- run:"); n != hidden {
		t.Errorf("%s: %d comments of commands, of which %d end with a line -->", page, n, hidden)
	}
	return all
}

// docTotals counts what a run of the documents did.
type docTotals struct {
	mu      sync.Mutex // guards the fields below
	blocks  int
	skipped int // blocks
	ran     map[string]int
}

func (c *docTotals) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran[name]++
}

// TestDocs runs the shell blocks of the documents in the order in which they are written, each page in its own
// directory with the files of the repository, and with its own hub. Every command must end with code 0.
func TestDocs(t *testing.T) {
	require(t, "curl")
	require(t, "python3")
	totals := &docTotals{ran: map[string]int{}}
	t.Run("pages", func(t *testing.T) {
		for _, page := range docPages(t) {
			blocks := docBlocks(t, page)
			for i := range blocks {
				if _, err := parseShell(blocks[i].text); err != nil {
					t.Errorf("%s:%d: %v", page, blocks[i].line, err)
				}
				if !blocks[i].hidden {
					totals.blocks++
				}
				if blocks[i].norun {
					totals.skipped++
				}
			}
			if !slices.ContainsFunc(blocks, func(b docBlock) bool { return !b.norun && !b.hidden }) {
				continue
			}
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				p := newTypist(t, totals)
				p.typePage(page, blocks)
				if page == "README.md" && !t.Failed() {
					p.awaitOutput("parley tail hello", "Message 3 was: And now?")
				}
			})
		}
	})
	t.Logf("%d blocks, of which %d had their syntax checked only; commands run: %v",
		totals.blocks, totals.skipped, totals.ran)
	if totals.ran["parley"] < 100 || totals.ran["curl"] < 3 {
		t.Errorf("the test ran %v: expected 100 commands of parley and 3 of curl", totals.ran)
	}
}

func parseShell(text string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}

// A typist types the commands of one page. Commands that do not end, such as serve, run in the background
// until another hub is started or the page ends.
type typist struct {
	t       *testing.T
	totals  *docTotals
	dir     string // the working directory: a copy of what the commands use
	address string // of the hub
	runner  *interp.Runner

	mu      sync.Mutex // guards the fields below
	running []*endless
}

// An endless command runs until it gets a signal.
type endless struct {
	text     string
	cmd      *exec.Cmd
	out      *watchedBuffer
	done     chan error
	tolerant bool // a signal may end it: it is no hub and no runner
}

// statementTime is how long one statement of a document may take.
const statementTime = 2 * time.Minute

// lookEvery is how often the test looks for what a command prints.
const lookEvery = 20 * time.Millisecond

func newTypist(t *testing.T, totals *docTotals) *typist {
	t.Helper()
	p := &typist{t: t, totals: totals, dir: t.TempDir(), address: freeAddress(t)}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		from, to := filepath.Join(root, e.Name()), filepath.Join(p.dir, e.Name())
		switch e.Name() {
		case "examples": // commands write into it
			err = os.CopyFS(to, os.DirFS(from))
		case ".git", ".github", "bin", "conformance", "torture", "bench", "tools", "testdata", "go.work", "go.work.sum":
		default:
			err = os.Symlink(from, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The address is not that of the documents, so that several pages are typed at once.
	env := append(os.Environ(), "PARLEY_URL=ws://"+p.address+"/rpc", "PARLEY_TOKEN="+docToken, "PWD="+p.dir, "GOWORK=off",
		"HOME="+home(t), "XDG_STATE_HOME="+filepath.Join(p.dir, ".state"))
	p.runner, err = interp.New(interp.Dir(p.dir), interp.Env(expand.ListEnviron(env...)), interp.ExecHandlers(p.execute),
		interp.StdIO(nil, io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stopAll)
	return p
}

// docToken is the admin token of the hubs for which the documents set none.
const docToken = "plt_docs_test"

// home returns the home directory of the commands: that of the user, whose Go caches they need.
func home(t *testing.T) string {
	dir, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (p *typist) typePage(page string, blocks []docBlock) {
	for _, b := range blocks {
		if b.norun {
			continue
		}
		file, err := parseShell(b.text)
		if err != nil {
			return // the caller has reported it
		}
		for _, statement := range file.Stmts {
			statement.Background = false // start runs what does not end in the background
			var text bytes.Buffer
			if err := syntax.NewPrinter().Print(&text, statement); err != nil {
				p.t.Fatal(err)
			}
			var out bytes.Buffer
			if err := interp.StdIO(nil, &out, &out)(p.runner); err != nil {
				p.t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(p.t.Context(), statementTime)
			err := p.runner.Run(ctx, statement)
			cancel()
			if err != nil {
				p.t.Fatalf("%s:%d: %s: %v\n%s\n%s", page, b.line, text.Bytes(), err, out.Bytes(), p.outputs())
			}
		}
	}
}

// awaitOutput repeats a command until its output has a text.
func (p *typist) awaitOutput(command, text string) {
	file, err := parseShell(command)
	if err != nil {
		p.t.Fatal(err)
	}
	var out bytes.Buffer
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(lookEvery) {
		out.Reset()
		if err := interp.StdIO(nil, &out, &out)(p.runner); err != nil {
			p.t.Fatal(err)
		}
		if err := p.runner.Run(p.t.Context(), file); err != nil {
			p.t.Fatalf("%s: %v\n%s", command, err, out.Bytes())
		}
		if strings.Contains(out.String(), text) {
			return
		}
	}
	p.t.Errorf("%s does not print %q:\n%s", command, text, out.Bytes())
}

// execute runs one simple command of a block.
func (p *typist) execute(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		h := interp.HandlerCtx(ctx)
		args = slices.Clone(args)
		name := args[0]
		for i := range args {
			args[i] = p.local(args[i])
		}
		switch name {
		case "make":
			return nil // the test has built the program
		case "bin/parley":
			name = "parley"
		}
		p.totals.add(name)
		path := name
		if name == "parley" {
			path = string(program)
			args = p.parleyArgs(args)
		}
		cmd := exec.CommandContext(ctx, path, args[1:]...)
		cmd.Dir, cmd.WaitDelay = h.Dir, time.Second
		cmd.Stdin, cmd.Stdout, cmd.Stderr = h.Stdin, h.Stdout, h.Stderr
		h.Env.Each(func(name string, v expand.Variable) bool {
			if v.Exported {
				cmd.Env = append(cmd.Env, name+"="+p.local(v.String()))
			}
			return true
		})
		if name == "parley" && isServe(args) && h.Env.Get("PARLEY_DEV_TOKEN").String() == "" {
			cmd.Env = append(cmd.Env, "PARLEY_DEV_TOKEN="+docToken)
		}
		if started, isEndless := startedBy(name, args); isEndless {
			return p.start(cmd, strings.Join(args, " "), started)
		}
		if name == "parley" && args[1] == "chat" {
			cmd.Stdin = strings.NewReader("And now?\n")
		}
		err := cmd.Run()
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			return interp.ExitStatus(uint8(exit.ExitCode()))
		}
		return err
	}
}

// local replaces the addresses and directories of the documents by those of the test.
func (p *typist) local(arg string) string {
	return strings.NewReplacer("127.0.0.1:7447", p.address, "localhost:7447", p.address,
		"/var/lib/parley", filepath.Join(p.dir, "var-lib-parley"),
		"/backup/", filepath.Join(p.dir, "backup")+"/").Replace(arg)
}

func isServe(args []string) bool {
	return len(args) > 1 && (args[1] == "serve" || len(args) > 2 && args[1] == "a2a" && args[2] == "serve")
}

// parleyArgs lets a hub listen at the address of the test.
func (p *typist) parleyArgs(args []string) []string {
	if !isServe(args) || slices.Contains(args, "--help") {
		return args
	}
	p.stopAll() // a reader would stop the hub of an earlier block
	if !slices.Contains(args, "--listen") {
		args = append(args, "--listen", p.address)
	}
	return args
}

// startedBy reports whether a command runs until a signal, and what it prints when it has started.
func startedBy(name string, args []string) (text string, isEndless bool) {
	has := func(arg string) bool { return slices.Contains(args, arg) }
	switch {
	case has("--help"):
	case name == "parley" && isServe(args):
		return "listening on ", true
	case name == "parley" && args[1] == "run" && !has("--check"):
		return " runs ", true
	case name == "parley" && (has("-f") || has("--watch") || has("watch")),
		name == "go" && args[1] == "run":
		return "", true
	}
	return "", false
}

// start starts a command, and waits until it prints that it has started.
func (p *typist) start(cmd *exec.Cmd, text, started string) error {
	out := &watchedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Stdin = nil
	cmd = withoutContext(cmd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run does not pass signals on
	if err := cmd.Start(); err != nil {
		return err
	}
	e := &endless{text: text, cmd: cmd, out: out, done: make(chan error, 1), tolerant: started == ""}
	go func() { e.done <- cmd.Wait() }()
	p.mu.Lock()
	p.running = append(p.running, e)
	p.mu.Unlock()
	for end := time.Now().Add(patience); !strings.Contains(out.String(), started); time.Sleep(lookEvery) {
		select {
		case err := <-e.done:
			e.done <- err
			return fmt.Errorf("%s ended: %v\n%s", text, err, out)
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not start:\n%s", text, out)
		}
	}
	return nil
}

// withoutContext returns the command without the context of its statement, which ends earlier.
func withoutContext(c *exec.Cmd) *exec.Cmd {
	return &exec.Cmd{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Stdout: c.Stdout, Stderr: c.Stderr, Err: c.Err,
		WaitDelay: time.Second}
}

// stopAll sends SIGTERM to the commands in the background, the newest first, and waits for their end.
func (p *typist) stopAll() {
	p.mu.Lock()
	running := p.running
	p.running = nil
	p.mu.Unlock()
	for _, e := range slices.Backward(running) {
		syscall.Kill(-e.cmd.Process.Pid, syscall.SIGTERM) // fails for an ended process
		stuck := time.AfterFunc(patience, func() { syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL) })
		err := <-e.done
		if e.tolerant && e.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			err = nil
		}
		if err != nil {
			p.t.Errorf("%s: %v\n%s", e.text, err, e.out)
		}
		stuck.Stop()
	}
}

// outputs returns what the commands in the background have printed.
func (p *typist) outputs() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, e := range p.running {
		fmt.Fprintf(&b, "%s:\n%s\n", e.text, e.out)
	}
	return b.String()
}

// A watchedBuffer is a buffer that is read while it is written.
type watchedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (w *watchedBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *watchedBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestDocsGo compiles the Go of the documents. A block is a whole file, or a part of a file of the examples.
func TestDocsGo(t *testing.T) {
	t.Parallel()
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replaced := map[string]string{} // the overlay of the build
	args := []string{"build", "-o", os.DevNull, "-overlay", filepath.Join(dir, "overlay.json")}
	examples := exampleFiles(t)
	parts := 0
	for _, page := range docPages(t) {
		for _, m := range goBlock.FindAllStringSubmatch(read(t, filepath.Join("..", filepath.FromSlash(page))), -1) {
			if !strings.HasPrefix(m[1], "package ") {
				parts++
				if !slices.ContainsFunc(examples, func(file string) bool { return strings.Contains(words(file), words(m[1])) }) {
					t.Errorf("%s: no file of the examples contains this part:\n%s", page, m[1])
				}
				continue
			}
			name := fmt.Sprintf("docs_block_%d", len(replaced))
			file := filepath.Join(dir, name+".go")
			write(t, file, m[1])
			replaced[filepath.Join(root, name, "main.go")] = file
			args = append(args, "./"+name)
		}
	}
	if len(replaced) < 4 || parts == 0 {
		t.Errorf("found %d files and %d parts of Go in the documents: expected 4 and 1", len(replaced), parts)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	t.Logf("%d files compiled, %d parts found in the examples", len(replaced), parts)
}

// exampleFiles returns the text of the Go files of the examples.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(filepath.Join("..", "examples"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			all = append(all, read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
