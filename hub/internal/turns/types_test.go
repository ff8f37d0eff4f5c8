package turns

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
)

func testExecutor(id string, serves ...string) *executor {
	return &executor{
		key: id, id: id, by: auth.Local("owner"), conn: &Connection{}, agents: serves, serves: append(serves, id),
		push: true, capacity: 2, pending: make(map[string]desk.Time),
	}
}

// Load, offers and capacity decide whether an executor is full. It missed something only if it was.
func TestExecutor_View(t *testing.T) {
	for _, c := range []struct {
		name               string
		load, offers       int
		now                desk.Time // the offers count until 10
		full, missed       bool
		wantLoad, wantHeld int
	}{
		{name: "free", load: 1, wantLoad: 1, wantHeld: 1},
		{name: "offered", load: 1, offers: 1, full: true, missed: true, wantLoad: 2, wantHeld: 1},
		{name: "offer over", load: 1, offers: 1, now: 10, wantLoad: 1, wantHeld: 1},
		{name: "claims", load: 2, full: true, missed: true, wantLoad: 2, wantHeld: 2},
	} {
		x := testExecutor("one", "clinic")
		x.load = c.load
		for range c.offers {
			x.offer("case", 10)
		}
		v := x.view(c.now)
		if v.Full != c.full || x.missed != c.missed || v.Load != c.wantLoad || v.Holds != c.wantHeld {
			t.Errorf("%s: %+v, missed %t", c.name, v, x.missed)
		}
	}
}

// An executor is found from its registration on, asked once it serves, and in no index after its end.
func TestExecutors_Indexes(t *testing.T) {
	d := newDispatcher(t)
	e, x := d.executors, testExecutor("one", "clinic")
	for _, c := range []struct {
		name         string
		step         func()
		found, asked bool
	}{
		{"before", func() {}, false, false},
		{"registered", func() { e.putLocked(x) }, true, false},
		{"serves", func() { e.serveLocked(x) }, true, true},
		{"removed", func() { e.removeLocked(x) }, false, false},
		{"serves late", func() { e.serveLocked(x) }, false, false},
	} {
		c.step()
		asked := len(e.candidatesLocked("case", "clinic", nil, 0)) > 0
		if found := e.IsConnected("one") && e.HasExecutor("clinic"); found != c.found || asked != c.asked {
			t.Errorf("%s: found %t, asked %t", c.name, found, asked)
		}
	}
	if len(e.serving) > 0 {
		t.Errorf("the index still has %v", e.serving)
	}
}

// Of the registrations at two hubs the newer one stays; the hubs decide alike.
func TestIsNewer(t *testing.T) {
	for _, c := range []struct {
		name      string
		there     int64
		here      int64
		thereHub  string
		wantNewer bool
	}{
		{"older version", 0, 5, "hub_b", false},
		{"older", 4, 5, "hub_b", false},
		{"newer", 6, 5, "hub_a", true},
		{"same time, higher id", 5, 5, "hub_c", true},
		{"same time, lower id", 5, 5, "hub_a", false},
	} {
		there, here := &cluster.Executor{Stamp: c.there}, &executor{stamp: c.here}
		if got := isNewer(there, c.thereHub, here, "hub_b"); got != c.wantNewer {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// A claim counts in the load of the executor that holds it, except while its turn waits.
func TestClaims_Load(t *testing.T) {
	hash := eventdata.HashClaim("c1")
	claim := &fold.Claim{Hash: hash, AgentID: "owner", Turn: 1}
	state := &fold.State{ID: "case", Seq: 1, Claims: fold.Claims{Claim: claim}}
	var k *claims
	var one, two *executor
	waiting := *state
	waiting.Children = []fold.Child{{ID: "ses_1", By: "owner", Mode: parley.ModeSync}}
	wait, resume := func() { k.updateWaitLocked(&waiting) }, func() { k.updateWaitLocked(state) }
	take := func() { k.recordLocked(state).assign(one.conn) }
	for _, c := range []struct {
		name     string
		steps    []func()
		one, two int
		held     int
	}{
		{"taken", []func(){take}, 1, 0, 1},
		{"seen again", []func(){take, func() { k.recordLocked(state) }}, 1, 0, 1},
		{"moved", []func(){take, func() { k.held[hash].moveTo(two.conn) }}, 0, 1, 1},
		{"confirmed", []func(){take, func() { k.confirmLocked(hash, "c1", two.by, two.conn) }}, 0, 1, 1},
		{"connection lost", []func(){take, func() { k.loseLocked(one.conn) }}, 0, 0, 1},
		{"waits", []func(){take, wait}, 0, 0, 1},
		{"moved while it waits", []func(){take, wait, func() { k.held[hash].moveTo(two.conn) }}, 0, 0, 1},
		{"waited", []func(){take, wait, resume}, 1, 0, 1},
		{"ended", []func(){take, func() { k.endLocked(*state.Claim, state, parley.ClaimFinal) }}, 0, 0, 0},
	} {
		d := newDispatcher(t)
		k, one, two = d.claims, testExecutor("one", "clinic"), testExecutor("two", "clinic")
		for _, x := range []*executor{one, two} {
			x.conn.executor.Store(x)
		}
		one.conn.addHold("case", auth.Hold{Hash: hash})
		for _, step := range c.steps {
			step()
		}
		if one.load != c.one || two.load != c.two || len(k.held) != c.held {
			t.Errorf("%s: loads %d and %d, %d claims", c.name, one.load, two.load, len(k.held))
		}
	}
}

// A hub lets another one act first once, and not at all with a renewal.
func TestTurn_Yield(t *testing.T) {
	end, renew := fold.Command{Do: &fold.EndClaim{}}, fold.Command{Do: &fold.Renew{}}
	for _, c := range []struct {
		name     string
		yielded  bool
		commands []fold.Command
		wait     time.Duration
		want     bool
	}{
		{"first", false, []fold.Command{end}, time.Second, true},
		{"second", true, []fold.Command{end}, time.Second, false},
		{"is first itself", false, []fold.Command{end}, 0, false},
		{"nothing due", false, nil, time.Second, false},
		{"renewal", false, []fold.Command{end, renew}, time.Second, false},
	} {
		u := &turn{id: "case", yielded: c.yielded}
		if got := u.yield(c.commands, 5, c.wait); got != c.want || u.yielded != c.want {
			t.Errorf("%s: yields %t, then %t", c.name, got, u.yielded)
		}
		if want := desk.Time(1005); c.want && u.retryAt != want {
			t.Errorf("%s: tries again at %d, want %d", c.name, u.retryAt, want)
		}
	}
}

// The end of an offer frees its executor.
func TestTurn_EndsOffers(t *testing.T) {
	one, two := testExecutor("one"), testExecutor("two")
	one.offer("case", 10)
	two.offer("case", 20)
	u := &turn{id: "case", asked: []*executor{one, two}}
	if freed := u.expire(10); !slices.Equal(freed, []*executor{one}) || len(one.pending) > 0 {
		t.Errorf("the expiry freed %d executors", len(freed))
	}
	if freed := u.withdraw(); !slices.Equal(freed, []*executor{two}) || len(two.pending) > 0 || len(u.asked) > 0 {
		t.Errorf("the withdrawal freed %d executors", len(freed))
	}
}

// A conversation is open until it is closed, and has a turn if a claim is current.
func TestRecords_Open(t *testing.T) {
	claim := &fold.Claim{Hash: eventdata.HashClaim("c1"), AgentID: "clinic", Turn: 1}
	for _, c := range []struct {
		name          string
		state         fold.State
		isOpen, hasIt bool
	}{
		{"no claim", fold.State{ID: "case", Seq: 1}, true, false},
		{"claimed", fold.State{ID: "case", Seq: 1, Claims: fold.Claims{Claim: claim}}, true, true},
		{"closed", fold.State{ID: "case", Seq: 1, Status: parley.StatusClosed}, false, false},
	} {
		r := newRecords(&sync.Mutex{}, nil)
		r.open["case"] = struct{}{}
		has := r.recordLocked(&c.state) != nil
		if _, isOpen := r.open["case"]; isOpen != c.isOpen || has != c.hasIt {
			t.Errorf("%s: open %t, has a turn %t", c.name, isOpen, has)
		}
	}
}
