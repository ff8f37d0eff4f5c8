//go:build linux

package blueprint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// patience is how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// world is a real hub, a runner of blueprints and a caller, each with a separate connection.
type world struct {
	*testing.T
	hub    *sdktest.Hub
	caller parley.Client
	client parley.Client // the runner's
	dir    string
	set    *blueprint.Set
	pool   *process.Pool
	stop   context.CancelFunc
	ended  chan error
}

// file writes a blueprint that runs a program of these tests. fields are additional members, as
// JSON without braces.
func file(t testing.TB, dir, name, fields string, argv ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words, err := json.Marshal(append([]string{self, "program"}, argv...))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fields, "parameters_schema") {
		fields = strings.TrimPrefix(fields+`,"parameters_schema":{}`, ",")
	}
	write(t, dir, name+".json", fmt.Sprintf(`{"name":%q,"argv":%s,%s}`, name, words, fields))
}

// newWorld runs the blueprints of a directory. Commands get url.
func newWorld(t *testing.T, dir string) *world {
	t.Helper()
	w := &world{T: t, hub: sdktest.NewHub(t), dir: dir, pool: &process.Pool{}, ended: make(chan error, 1)}
	var faults []blueprint.Fault
	if w.set, faults = blueprint.Load(dir); len(faults) > 0 {
		t.Fatal(faults)
	}
	w.caller = w.hub.Client(t, "caller")
	w.run(blueprint.New(w.set, &blueprint.Options{URL: w.hub.URL, Processes: w.pool}), nil)
	return w
}

// run runs an agent as the runner of the blueprints, and waits for their registration.
func (w *world) run(agent parley.Agent, o *executors.Options) {
	w.Helper()
	registered := make(chan struct{}, 100)
	options := executors.Options{}
	if o != nil {
		options = *o
	}
	options.Blueprints, options.ExecutorID = w.set.Blueprints(), "run-test"
	options.Registered = func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} }
	client := w.hub.Client(w.T, "runner")
	w.client = client
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.ended = make(chan error, 1)
	go func() { w.ended <- executors.Run(ctx, client, agent, &options) }()
	w.Cleanup(func() {
		stop()
		w.pool.Close()
	})
	select {
	case <-registered:
	case err := <-w.ended:
		w.Fatal("Run has ended: ", err)
	case <-time.After(patience):
		w.Fatal("the hub does not know the blueprints")
	}
}

// start starts a session and returns it after its end.
func (w *world) start(agent, parameters string) *parley.Session {
	w.Helper()
	s, err := w.caller.StartSession(w.Context(),
		&parley.StartSessionParams{AgentName: agent, Parameters: json.RawMessage(parameters),
			TimeoutMs: patience.Milliseconds()})
	if err != nil {
		w.Fatalf("%s %.200s: %v", agent, parameters, err)
	}
	return s
}

// begin starts a session without waiting.
func (w *world) begin(agent, parameters string) *parley.Session {
	w.Helper()
	s, err := w.caller.StartSession(w.Context(), &parley.StartSessionParams{
		AgentName: agent, Parameters: json.RawMessage(parameters), Mode: parley.ModeAsyncPoll,
	})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// wait returns a session after its end.
func (w *world) wait(id string) *parley.Session {
	w.Helper()
	s, err := w.caller.GetSession(w.Context(), &parley.GetSessionParams{SessionID: id, TimeoutMs: patience.Milliseconds()})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// completed checks that a session completed.
func (w *world) completed(s *parley.Session) *parley.SessionResult {
	w.Helper()
	if s.Status != parley.SessionCompleted || s.Result == nil || s.Result.Error != "" || s.Result.ExitCode == nil ||
		*s.Result.ExitCode != 0 {
		w.Fatalf("%s", indent(s))
	}
	return s.Result
}

// failed checks that a session failed, with its error.
func (w *world) failed(s *parley.Session, reason, text string) *parley.SessionResult {
	w.Helper()
	if s.Status != parley.SessionFailed || s.Reason != reason || s.Result == nil || s.Result.Error != text ||
		s.Result.ResultType != parley.AgentTypeDeterministic {
		w.Fatalf("%s, expected %s: %s", indent(s), reason, text)
	}
	return s.Result
}

func indent(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// text returns the text of a session's result.
func text(r *parley.SessionResult) string {
	if r.ResultText == nil {
		return "(none)"
	}
	return *r.ResultText
}

// reported parses the output of the program "report".
func (w *world) reported(r *parley.SessionResult) seen {
	w.Helper()
	raw := []byte(text(r))
	if r.Attachment != nil {
		w.Fatal("it is in a file")
	}
	var s seen
	if err := json.Unmarshal(raw, &s); err != nil {
		w.Fatalf("%v: %.200s", err, raw)
	}
	return s
}

// pidIn waits until a command wrote its pid into a file.
func (w *world) pidIn(path string) int {
	w.Helper()
	return w.lines(path, 1)[0]
}

// lines waits until commands wrote n pids into a file.
func (w *world) lines(path string, least int) (pids []int) {
	w.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Fatal(err)
		}
		pids = pids[:0]
		for line := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(line); err == nil {
				pids = append(pids, pid)
			}
		}
		if len(pids) >= least {
			return pids
		}
	}
	w.Fatal("the command does not run")
	return nil
}

// gone waits until none of these processes runs.
func (w *world) gone(within time.Duration, pids ...int) {
	w.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%d of %v run", left, pids)
		}
	}
}

// traces returns the texts of the traces of a session.
func (w *world) traces(id string) (texts []string) {
	w.Helper()
	admin := w.hub.Admin(w.T)
	page, err := admin.Tail(w.Context(), &parley.TailParams{ConversationID: id})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range page.Events {
		var t parley.Trace
		if e.Type != parley.TypeTrace {
			continue
		}
		if err := json.Unmarshal(e.Payload, &t); err != nil || t.Kind != blueprint.TraceProgress {
			w.Errorf("%s %v", e.Payload, err)
		}
		texts = append(texts, t.Text)
	}
	return texts
}

// temp returns the path of a file that does not exist.
func (w *world) temp(name string) string { return filepath.Join(w.TempDir(), name) }
