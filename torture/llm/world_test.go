package llm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/sdk"
)

// world is a hub, a token for the process of the agent, and someone who starts sessions and answers
// approvals.
type world struct {
	t     *testing.T
	dir   string
	addr  string
	hub   *hubproc.Hub
	token string
	alice *sdk.Client
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), addr: hubproc.LowAddress(t)}
	w.startHub()
	admin := w.dial(hubproc.Token, "root")
	made, err := admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: runnerID, Scopes: parley.DefaultScopes})
	if err != nil {
		t.Fatal(err)
	}
	w.token = made.Token
	made, err = admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "alice", Scopes: append([]parley.Scope{parley.ScopeApprove, parley.ScopeTrace}, parley.DefaultScopes...)})
	if err != nil {
		t.Fatal(err)
	}
	w.alice = w.dial(made.Token, "alice")
	return w
}

func (w *world) startHub() { w.hub = program.Start(w.t, w.dir, "--listen", w.addr) }

func (w *world) dial(token, as string) *sdk.Client {
	w.t.Helper()
	c, err := sdk.Dial(w.t.Context(), "ws://"+w.addr+"/rpc", &sdk.Options{
		Token: token, AgentID: as, MinBackoff: retryPause, MaxBackoff: 5 * retryPause,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// office is the process of the agent, which is started again when it was killed.
type office struct {
	w      *world
	orders orders

	mu      sync.Mutex // guards the fields below
	cmd     *exec.Cmd
	kills   int
	closed  bool
	stderr  strings.Builder
	running sync.WaitGroup
}

func (w *world) open(at point, victim string) *office {
	dir := w.t.TempDir()
	o := &office{w: w, orders: orders{
		URL: "ws://" + w.addr + "/rpc", Token: w.token, Ledger: filepath.Join(dir, "ledger"), Point: at, Victim: victim,
		Burnt: filepath.Join(dir, "burnt"),
	}}
	o.running.Add(1)
	go o.run()
	return o
}

// run has the process run, again and again, until it is closed.
func (o *office) run() {
	defer o.running.Done()
	for {
		cmd, in, out, ok := o.start()
		if !ok {
			return
		}
		for lines := bufio.NewScanner(out); lines.Scan(); { // it wants the hub killed
			o.w.hub.Kill(o.w.t)
			o.mu.Lock()
			o.kills++
			o.mu.Unlock()
			o.w.startHub()
			fmt.Fprintln(in, "on")
		}
		_ = cmd.Wait()
		o.mu.Lock()
		if !o.closed {
			o.kills++
		}
		o.mu.Unlock()
	}
}

func (o *office) start() (*exec.Cmd, io.Writer, io.Reader, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.kills > 3 {
		return nil, nil, nil, false
	}
	b, err := json.Marshal(o.orders)
	if err != nil {
		o.w.t.Error(err)
		return nil, nil, nil, false
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+string(b))
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	cmd.Stderr = &o.stderr
	if err1 != nil || err2 != nil {
		o.w.t.Error(err1, err2)
		return nil, nil, nil, false
	}
	if err := hubproc.Start(cmd); err != nil {
		o.w.t.Error(err)
		return nil, nil, nil, false
	}
	o.cmd = cmd
	return cmd, in, out, true
}

// killed reports whether someone was.
func (o *office) killed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kills > 0
}

// close ends the process and returns the number of kills.
func (o *office) close() int {
	o.mu.Lock()
	o.closed = true
	if o.cmd != nil {
		_ = o.cmd.Process.Kill()
	}
	kills := o.kills
	o.mu.Unlock()
	o.running.Wait()
	if o.w.t.Failed() {
		o.w.t.Logf("the process of the agent has printed\n%s", o.stderr.String())
	}
	return kills
}

// done returns the lines of the ledger.
func (o *office) done() []string {
	b, err := os.ReadFile(o.orders.Ledger)
	if err != nil {
		o.w.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
