//go:build linux

package blueprint_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
)

const interrupted = "Runner disconnected during execution"

// A stopped session ends its command at once, and nothing more is posted in it.
func TestStop(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "wait", anyOf, "wait")
	w := newWorld(t, dir)
	path := w.temp("pid")
	s := w.begin("wait", fmt.Sprintf(`{"file":%q}`, path))
	pid := w.pidIn(path)
	stopped, err := w.caller.StopSession(t.Context(), &parley.StopSessionParams{SessionID: s.SessionID})
	if err != nil || stopped.Status != parley.SessionStopped {
		t.Fatal(stopped, err)
	}
	w.gone(patience, pid)
	w.stop()
	if err := <-w.ended; err != nil { // with all that it had to say
		t.Error(err)
	}
	if again := w.wait(s.SessionID); again.LatestSeq != stopped.LatestSeq {
		t.Errorf("it has gone on: %s", indent(again))
	}
}

// A stopping runner fails its sessions in the words of the seed, and leaves no process.
func TestDrain(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "wait", anyOf, "wait")
	w := newWorld(t, dir)
	w.stop()
	if err := <-w.ended; err != nil {
		t.Fatal(err)
	}
	w.run(blueprint.New(w.set, &blueprint.Options{Processes: w.pool}), &executors.Options{Drain: -1})
	path := w.temp("pid")
	s := w.begin("wait", fmt.Sprintf(`{"file":%q}`, path))
	pid := w.pidIn(path)
	w.stop()
	r := w.wait(s.SessionID)
	if r.Status != parley.SessionFailed || r.Result.Error != interrupted {
		t.Errorf("%s", indent(r))
	}
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	w.gone(0, pid)
}

// A command whose runner died is not started again unless it is idempotent. The next process of the
// runner has the same id.
func TestLost(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "once", anyOf, "count")
	file(t, dir, "again", `"idempotent":true,`+anyOf, "count")
	w := newWorld(t, dir)
	once, again := w.temp("once"), w.temp("again")
	first, second := w.begin("once", fmt.Sprintf(`{"file":%q}`, once)), w.begin("again", fmt.Sprintf(`{"file":%q}`, again))
	pids := append(w.lines(once, 1), w.lines(again, 1)...)

	_ = w.client.Close() // without a word
	w.stop()
	<-w.ended
	w.gone(patience, pids...)
	w.run(blueprint.New(w.set, &blueprint.Options{Processes: w.pool}), nil)
	if r := w.failed(w.wait(first.SessionID), parley.ReasonInterrupted, interrupted); r.ExitCode != nil {
		t.Errorf("%s", indent(r))
	}
	if pids = w.lines(again, 2); len(pids) != 2 {
		t.Errorf("started %d times", len(pids))
	}
	if s, err := w.caller.StopSession(t.Context(), &parley.StopSessionParams{SessionID: second.SessionID}); err != nil ||
		s.Status != parley.SessionStopped {
		t.Errorf("%s %v", indent(s), err)
	}
	w.gone(patience, pids...)
	if got := w.lines(once, 1); len(got) != 1 {
		t.Errorf("started %d times", len(got))
	}
}

// A runner never starts a command again that is not idempotent.
func TestSecondAttempt(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "once", anyOf, "count")
	file(t, dir, "again", `"idempotent":true,`+anyOf, "count")
	w := newWorld(t, dir)
	w.stop()
	<-w.ended
	agent := blueprint.New(w.set, &blueprint.Options{Processes: w.pool})
	w.run(agent, &executors.Options{Accept: func(string) bool { return false }})
	for name, attempts := range map[string][]int{"once": {2, 1}, "again": {2}} {
		path := w.temp(name)
		s := w.begin(name, fmt.Sprintf(`{"file":%q}`, path))
		for _, attempt := range attempts {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			turn := &parley.Turn{ConversationID: s.SessionID, AgentID: name, Agent: name, Number: 2, Attempt: attempt, Key: "k",
				Client: w.caller}
			done := make(chan error, 1)
			go func() {
				_, err := agent.HandleTurn(ctx, turn)
				done <- err
			}()
			starts := attempt == 1 || name == "again"
			if starts {
				w.lines(path, 1)
				cancel()
			}
			if err := <-done; err == nil || err.Error() != interrupted {
				t.Errorf("%s, attempt %d: %v", name, attempt, err)
			}
			cancel()
			if _, err := os.Stat(path); starts != (err == nil) {
				t.Errorf("%s, attempt %d: started: %v", name, attempt, err == nil)
			}
		}
	}
}

// A command that cannot be started fails its session without the path of the program.
func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	script := write(t, dir, "secret-script", "#!/nowhere/interpreter\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "gone.json", `{"name":"gone","argv":["./secret-script"],"parameters_schema":{}}`)
	file(t, dir, "say", anyOf, "say")
	w := newWorld(t, dir)
	const missing = "The command could not be started: a file is missing: the program, its interpreter or its directory"
	r := w.failed(w.start("gone", ``), "start", missing)
	if r.ExitCode != nil || strings.Contains(indent(r), "secret") {
		t.Errorf("%s", indent(r))
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	w.failed(w.start("gone", ``), "start", missing)
	w.completed(w.start("say", ``)) // the runner continues
}

// A valid trace of the conversation is passed on, and an invalid one is not.
func TestTraceparent(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for metadata, want := range map[string]string{
		`{"traceparent":"` + trace + `","x":1}`:                                    trace,
		`{"traceparent":"` + trace + ` "}`:                                         "",
		`{"traceparent":"00-` + strings.Repeat("0", 32) + `-b7ad6b7169203331-01"}`: "",
		`{"traceparent":"01` + trace[2:] + `"}`:                                    "",
		`{"traceparent":5}`:                                                        "",
		`[]`:                                                                       "",
		``:                                                                         "",
	} {
		if got := blueprint.TraceOf([]byte(metadata)); got != want {
			t.Errorf("%s: %q, expected %q", metadata, got, want)
		}
	}
}

// A closed connection or a restarted hub does not affect a running command.
func TestReconnect(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "tell", anyOf, "tell")
	w := newWorld(t, dir)
	for name, disturb := range map[string]func(){"cut": w.hub.CutConnections, "restart": func() { w.hub.Restart(t) }} {
		path := w.temp("go")
		s := w.begin("tell", fmt.Sprintf(`{"file":%q}`, path))
		since := int64(0)
		if _, err := w.caller.GetSession(t.Context(),
			&parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: patience.Milliseconds(),
				ProgressSince: &since}); err != nil {
			t.Fatal(name, err)
		}
		disturb()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.completed(w.wait(s.SessionID))
	}
}
