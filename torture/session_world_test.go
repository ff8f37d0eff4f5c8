package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/sdk"
)

const (
	sessionBoss   = "boss"   // starts the sessions
	sessionRunner = "runner" // whose token the runner has
	childAgent    = "child"
	// slowestRound detects a hang in a round of sessions, kills included.
	slowestRound = 5 * time.Minute
)

// family is a hub, a runner, and the directory in which all of it happens.
type family struct {
	t      *testing.T
	dir    string
	hub    *hubproc.Hub
	boss   *sdk.Client
	token  string // of the runner
	runner *hubproc.Runner
}

// newFamily starts a hub, and a runner with further arguments of parley run.
func newFamily(t *testing.T, args ...string) *family {
	t.Helper()
	f := &family{t: t, dir: t.TempDir()}
	f.write("blueprints/child.json", fmt.Sprintf(childBlueprint, f.runs()))
	f.write("blueprints/child.sh", childProgram)
	f.hub = startDuelHub(t, f.dir, "127.0.0.1:0")
	var err error
	f.boss, err = sdk.Dial(t.Context(), f.hub.URL, &sdk.Options{Token: hubproc.Token, AgentID: sessionBoss, MaxBackoff: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.boss.Close() })
	made, err := f.boss.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: sessionRunner})
	if err != nil {
		t.Fatal(err)
	}
	f.token = made.Token
	f.startRunner(args...)
	f.awaitAgent(childAgent)
	return f
}

// startRunner starts the runner of the directory: the same one each time, by the id that it keeps
// there.
func (f *family) startRunner(args ...string) {
	f.t.Helper()
	f.runner = f.hubRunner("blueprints", args...)
}

func (f *family) hubRunner(dir string, args ...string) *hubproc.Runner {
	f.t.Helper()
	return program.Runner(f.t, f.hub, f.token, append([]string{"--blueprints", filepath.Join(f.dir, dir)}, args...)...)
}

// awaitAgent waits until an agent is there.
func (f *family) awaitAgent(name string) parley.AgentInfo {
	f.t.Helper()
	var found parley.AgentInfo
	f.await("agent "+name+" is online", func() bool {
		r, err := f.boss.ListAgents(f.t.Context(), &parley.ListAgentsParams{})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, a := range r.Agents {
			if a.Name == name && a.Online {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// await polls for something that a process does.
func (f *family) await(what string, there func() bool) {
	f.t.Helper()
	if !eventually(f.t.Context(), there) {
		f.t.Fatalf("within %s it was not so that %s", slowestTurn, what)
	}
}

// eventually reports whether something has become true in time.
func eventually(ctx context.Context, there func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, slowestTurn)
	defer cancel()
	for !there() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (f *family) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		f.t.Fatal(err)
	}
}

// runs is the file that each run of a command adds a line to: the id of its session.
func (f *family) runs() string { return filepath.Join(f.dir, "runs") }

// ran counts the runs of each session.
func (f *family) ran() map[string]int {
	f.t.Helper()
	text, err := os.ReadFile(f.runs())
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n[strings.TrimSuffix(line, "\n")]++
	}
	return n
}

// childBlueprint runs childProgram. It is not idempotent: once begun, a run is never begun again.
const childBlueprint = `{
  "name": "child",
  "description": "waits at a gate and says which it is",
  "argv": ["sh", "child.sh"],
  "params_via": "env",
  "env": ["RUNS=%s"],
  "timeout": "2m",
  "parameters_schema": {
    "type": "object",
    "required": ["n", "gate"],
    "additionalProperties": false,
    "properties": {"n": {"type": "integer"}, "gate": {"type": "string"}, "code": {"type": "integer", "default": 0}}
  }
}`

// childProgram notes that it runs, leaves a process behind that has left its group, and waits for
// one byte of the gate, a FIFO.
const childProgram = `echo "$PARLEY_SESSION" >> "$RUNS"
if command -v setsid > /dev/null; then
  setsid sleep 600 < /dev/null > /dev/null 2>&1 &
fi
read -r line < "$PARAM_GATE"
echo "child $PARAM_N has passed the gate" >&2
printf '{"n":%s,"session":"%s"}' "$PARAM_N" "$PARLEY_SESSION"
exit "$PARAM_CODE"
`

// gate holds commands back until it is opened.
type gate struct {
	path string
	file *os.File // while it is open
}

func newGate(path string) (*gate, error) {
	return &gate{path: path}, syscall.Mkfifo(path, 0o600)
}

// open lets n commands through: those that wait, all at once, and those that come later.
func (g *gate) open(n int) (err error) {
	if g.file, err = os.OpenFile(g.path, os.O_RDWR, 0); err != nil {
		return err
	}
	_, err = g.file.Write(bytes.Repeat([]byte{'\n'}, n))
	return err
}

func (g *gate) close() {
	if g.file != nil {
		g.file.Close()
	}
}

// say appends a message of the boss.
func say(ctx context.Context, c parley.Client, id, text string, f parley.Finality) error {
	payload, err := json.Marshal(parley.Message{Text: text})
	if err != nil {
		return err
	}
	_, err = c.SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: payload, Finality: f,
		ClientRequestID: text})
	if err != nil {
		return fmt.Errorf("%s: %s: %w", id, text, err)
	}
	return nil
}
