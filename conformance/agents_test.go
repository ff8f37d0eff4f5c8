package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

var agents = filepath.Join("..", "examples", "agents")

// talk is a conversation between ann, who sends messages through the program, and an agent.
type talk struct {
	t   *testing.T
	hub *hubproc.Hub
	id  string
}

func newTalk(t *testing.T, h *hubproc.Hub, id, agent string) *talk {
	t.Helper()
	k := &talk{t, h, id}
	k.parley("conversation", "create", "--id", id, "--participant", "ann:human", "--participant", agent+":agent")
	return k
}

// parley runs the program, and returns what it prints.
func (k *talk) parley(args ...string) string {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), string(program), args...)
	cmd.Env = hubEnv(k.hub)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		k.t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

func hubEnv(h *hubproc.Hub) []string {
	return append(os.Environ(), "PARLEY_URL="+h.URL, "PARLEY_TOKEN="+hubproc.Token)
}

// say says a text as ann and waits for what the agent answers.
func (k *talk) say(text string) map[string]any {
	k.t.Helper()
	k.parley("send", k.id, text, "--as", "ann")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var last struct {
			From, Finality string
			Payload        map[string]any
		}
		lines := strings.Split(strings.TrimSpace(k.parley("tail", k.id, "--types", "message", "-o", "json")), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
			k.t.Fatal(err)
		}
		if last.From != "ann" && last.Finality != "none" {
			return last.Payload
		}
	}
	k.t.Fatalf("no answer to %q:\n%s", text, k.parley("tail", k.id))
	return nil
}

// background runs a program until the test ends. It must end with code 0 after SIGTERM.
func background(t *testing.T, h *hubproc.Hub, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = hubEnv(h)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer stuck.Stop()
		cmd.Process.Signal(syscall.SIGTERM) // fails for one that was killed
		if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: %v\n%s", name, err, out.Bytes())
		}
	})
	return cmd
}

// TestPythonCommand lets the example in Python take its turns through parley run.
func TestPythonCommand(t *testing.T) {
	t.Parallel()
	python := require(t, "python3")
	h := program.Start(t, t.TempDir())
	defer h.Stop(t)
	t.Run("talk", func(t *testing.T) {
		k := newTalk(t, h, "sums", "adder")
		background(t, h, string(program), "run", "--agent", "adder", "--", python, filepath.Join(agents, "python_command.py"))
		if got := k.say("what is 2 and 3.5?"); got["text"] != "The sum is 5.5." || got["schema"] != "sum.v1" {
			t.Errorf("answered %v", got)
		}
		if got := k.say("now 41 and -1"); got["text"] != "The sum is 40." { // and not what was said before
			t.Errorf("answered %v", got)
		}
		if got := k.say("hello"); got["text"] != "Give me numbers, or say bye." {
			t.Errorf("answered %v", got)
		}
		if got := k.say("Bye!"); got["text"] != "bye" {
			t.Errorf("answered %v", got)
		}
		all := k.parley("tail", k.id)
		for _, want := range []string{"adding 2 numbers", "trace stderr: turn 2, attempt 1: 1 messages",
			"closed: completed, said bye"} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is missing:\n%s", want, all)
			}
		}
	})
}

// TestPythonInDocs plays the agent that docs/guides/programs.md shows.
func TestPythonInDocs(t *testing.T) {
	t.Parallel()
	python := require(t, "python3")
	text, err := os.ReadFile(filepath.Join("..", "docs", "guides", "programs.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(text), "```python\n")
	code, _, closed := strings.Cut(code, "```")
	if !found || !closed {
		t.Fatal("docs/guides/programs.md shows no agent in Python")
	}
	h := program.Start(t, t.TempDir())
	defer h.Stop(t)
	t.Run("talk", func(t *testing.T) {
		k := newTalk(t, h, "shown", "clinic")
		background(t, h, string(program), "run", "--agent", "clinic", "--", python, "-c", code)
		if got := k.say("hello")["text"]; got != "1 messages since my last turn" {
			t.Errorf("answered %v", got)
		}
	})
}

// TestNodeAgent lets the example in Node take its turns by itself: twice, and one of them is
// killed.
func TestNodeAgent(t *testing.T) {
	t.Parallel()
	node := require(t, "node")
	h := program.Start(t, t.TempDir())
	defer h.Stop(t)
	t.Run("talk", func(t *testing.T) {
		k := newTalk(t, h, "mirror", "reverser")
		args := []string{"--experimental-websocket", "--no-warnings", filepath.Join(agents, "node_ws.mjs"), "reverser"}
		first := background(t, h, node, args...)
		background(t, h, node, args...)
		for n := range 6 {
			if n == 3 {
				first.Process.Kill()
			}
			text := fmt.Sprintf("word %d", n)
			if got, want := k.say(text)["text"], fmt.Sprintf("%d drow", n); got != want {
				t.Errorf("to %q it answered %v", text, got)
			}
		}
		if n := strings.Count(k.parley("tail", k.id, "--types", "message"), "drow"); n != 6 {
			t.Errorf("%d answers to 6 messages", n)
		}
	})
}
