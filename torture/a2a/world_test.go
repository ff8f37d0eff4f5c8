package a2a

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/sdk"
)

const (
	// tellerName is the agent of the tests.
	tellerName = "teller"
	// retryPause is how long who finds no one waits before the next attempt.
	retryPause = 20 * time.Millisecond
	// tellPause is the time from one word of the teller to the next.
	tellPause = 10 * time.Millisecond
)

// world is a hub that can be killed, perhaps an adapter apart, and an agent.
type world struct {
	t       *testing.T
	dir     string
	addr    string // of the hub
	hub     *hubproc.Hub
	args    []string
	apart   bool
	near    string // address of the adapter apart
	adapter *adapter
	push    bool // the separate adapter delivers to webhooks
	teller  *teller
}

func newWorld(t *testing.T, apart, push bool) *world {
	if !apart {
		needInHub(t, 19)
	}
	w := &world{t: t, dir: t.TempDir(), addr: hubproc.LowAddress(t), apart: apart, push: push}
	w.args = []string{"--listen", w.addr}
	if !apart {
		w.args = append(w.args, "--a2a", "--a2a-agent", tellerName, "--a2a-allow-private", "all")
	}
	w.startHub()
	if apart {
		w.near = hubproc.LowAddress(t)
		w.startAdapter()
	}
	w.teller = newTeller(t, w.ws())
	return w
}

// needInHub leaves a test out that is about some promises and whose adapter is in the hub, where
// that cannot be.
func needInHub(t *testing.T, ids ...promise.ID) {
	t.Helper()
	if hubproc.Shared() {
		promise.Left(t, "the hubs of a shared log have their adapter apart", ids...)
	}
}

func (w *world) ws() string { return "ws://" + w.addr + "/rpc" }

func (w *world) startHub() { w.hub = program.Start(w.t, w.dir, w.args...) }

// door is where clients come to.
func (w *world) door() string {
	if w.apart {
		return w.near
	}
	return w.addr
}

// base is where the agent is.
func (w *world) base() string { return baseAt(w.door()) }

func baseAt(addr string) string { return "http://" + addr + "/a2a/" + tellerName }

// kill kills the hub, the adapter or both, by turns, and starts them again.
func (w *world) kill(n int) {
	ofHub, ofAdapter := !w.apart || n%3 != 1, w.apart && n%3 != 0
	if ofHub {
		w.hub.Kill(w.t)
	}
	if ofAdapter {
		w.adapter.kill()
	}
	if ofHub {
		w.startHub()
	}
	if ofAdapter {
		w.startAdapter()
	}
}

// adapter is a process of parley a2a serve.
type adapter struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

func (w *world) startAdapter() {
	w.t.Helper()
	args := []string{"a2a", "serve", "--url", w.ws(), "--listen", w.near, "--agent", tellerName}
	if w.push {
		args = append(args, "--push-key", w.dir+"/apart.key", "--allow-private", "all")
	}
	a := &adapter{cmd: exec.Command(string(program), args...)}
	a.cmd.Env = append(os.Environ(), "PARLEY_TOKEN="+hubproc.Token)
	a.cmd.Stderr = &a.stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := hubproc.Start(a.cmd); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(a.kill)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		a.kill()
		w.t.Fatalf("the adapter did not start: %v\n%s", err, a.stderr.Bytes())
	}
	w.adapter = a
}

// kill may be called again.
func (a *adapter) kill() {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
}

// dial returns a client of the hub that lasts over its restarts.
func dial(t *testing.T, url, as string) *sdk.Client {
	t.Helper()
	c, err := sdk.Dial(t.Context(), url, &sdk.Options{
		Token: hubproc.Token, AgentID: as, MinBackoff: retryPause, MaxBackoff: 5 * retryPause,
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// teller is an agent that posts the requested number of messages and a final one. Without a number,
// it continues until it is stopped. If it is asked to wait, it posts nothing until then.
type teller struct {
	words  atomic.Int64 // that were acknowledged
	hushed chan struct{}
}

func newTeller(t *testing.T, url string) *teller {
	t.Helper()
	c := dial(t, url, tellerName)
	l := &teller{hushed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.External(c, parley.AgentFunc(l.tell), &executors.Options{Drain: -1, GraceMs: 60_000, MinBackoff: retryPause, MaxBackoff: 5 * retryPause, Capacity: 64}).Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return l
}

// hush lets the tasks that continue come to their end.
func (l *teller) hush() { close(l.hushed) }

func (l *teller) tell(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	all, err := turn.Messages(ctx)
	if err != nil {
		return "", err
	}
	most, waits := 0, false
	for i := range all {
		var m parley.Message
		if err := json.Unmarshal(all[i].Payload, &m); err != nil {
			return "", err
		}
		if all[i].From != turn.AgentID {
			verb, n, _ := strings.Cut(m.Text, " ")
			waits = verb == "wait"
			most, _ = strconv.Atoi(n)
		}
	}
	if waits {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-l.hushed:
		}
	}
	tick := time.NewTicker(tellPause)
	defer tick.Stop()
	for n := 1; most == 0 || n <= most; n++ {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-l.hushed:
			most = n
		case <-tick.C:
		}
		if _, err := turn.Post(ctx, parley.Message{Text: fmt.Sprintf("word %d of turn %d", n, turn.Number)},
			parley.FinalityNone); err != nil {
			return "", err
		}
		l.words.Add(1)
	}
	if _, err := turn.Post(ctx, parley.Message{Text: fmt.Sprintf("all of turn %d", turn.Number)},
		parley.FinalityTurn); err != nil {
		return "", err
	}
	return parley.TurnPosted, nil
}

// waitFor waits until a look says true.
func waitFor(t *testing.T, within time.Duration, what string, look func() bool) {
	t.Helper()
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	for end := time.Now().Add(within); !look(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, within)
		}
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
