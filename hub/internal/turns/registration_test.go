package turns

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/hubtest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// noSessions and noRunners are a hub without agent sessions and runners.
type (
	noSessions struct{}
	noRunners  struct{}
)

func (noSessions) MayRun(string) bool                            { return true }
func (noSessions) FinishRecovery()                               {}
func (noRunners) Connected(string)                               {}
func (noRunners) Disconnected(string)                            {}
func (noRunners) Narrow(*auth.Principal, parley.RunnerRef) error { return nil }

func newDispatcher(t *testing.T) *Dispatcher {
	t.Helper()
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	e := hubtest.NewEngine(t, j)
	d := New(Options{Engine: e, Auth: auth.New(e, auth.Options{}), StartedAt: time.Now()})
	d.Connect(cluster.NewPresence(e, nil, nil), noSessions{}, noRunners{})
	return d
}

// Of two registrations of one executor the later one counts, also if the first waited longer: a hub that
// is cut off from the log delays registrations, and the client may use another connection meanwhile.
func TestRegister_LaterCallCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatcher(t)
		replaced := [2]bool{}
		var executors [2]*executor
		for i := range executors {
			p := auth.Local("clinic").On(d.NewConnection(false, nil, func() { replaced[i] = true }))
			x, err := d.newExecutor(p, &parley.RegisterExecutorParams{
				ExecutorID: "one", Agents: []string{"clinic"}, Mode: parley.ModePush,
			})
			if err != nil {
				t.Fatal(err)
			}
			executors[i] = x
		}
		var errs [2]error
		for _, i := range []int{1, 0} {
			d.register(executors[i], nil, func(_ parley.RegisterExecutorResult, err error) { errs[i] = err })
		}
		synctest.Wait()
		if errs[1] != nil || !errors.Is(errs[0], parley.ErrAlreadyExists) {
			t.Errorf("the first registration: %v, the second: %v", errs[0], errs[1])
		}
		if !replaced[0] || replaced[1] {
			t.Errorf("replaced connections: %v, want the first", replaced)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.byKey[executors[1].key] != executors[1] {
			t.Error("the second one is not the executor")
		}
	})
}

// A connection that remembers the maximum of claims drops those that other connections hold.
func TestConnection_HoldsAreBounded(t *testing.T) {
	c := &Connection{}
	for i := range maxHolds + 1000 {
		id := strconv.Itoa(i)
		c.addHold(id, auth.Hold{Hash: eventdata.ClaimHash{}})
		c.moveHold(id, eventdata.ClaimHash{})
	}
	if n := len(c.holds); n > maxHolds {
		t.Errorf("%d claims are remembered", n)
	}
}
