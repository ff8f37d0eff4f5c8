package hub_test

import (
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// TestListedSubscriptions: only admins and the participant that registered an agent see its
// subscriptions.
func TestListedSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		b := listens("calc", ` [ {"schema_name" : "s.v1"} ]`)
		b.Type = parley.AgentTypeFunction
		x := listeners(t, h, b)
		for name, c := range map[string]struct {
			p    *hub.Principal
			all  bool
			want string
		}{
			"its runner":   {x.p, true, `{"selectors":[{"schema_name":"s.v1"}]}`},
			"not asked":    {x.p, false, ``},
			"an admin":     {root(h), true, `{"selectors":[{"schema_name":"s.v1"}]}`},
			"another":      {h.LocalPrincipal("ann"), true, ``},
			"the agent":    {h.LocalPrincipal("calc"), true, ``},
			"root, silent": {root(h), false, ``},
		} {
			r, err := h.ListAgents(t.Context(), c.p, &parley.ListAgentsParams{IncludeConfig: c.all})
			if err != nil || len(r.Agents) != 1 || string(r.Agents[0].Subscriptions) != c.want ||
				r.Agents[0].Type != parley.AgentTypeFunction {
				t.Errorf("%s: %+v, %v", name, r.Agents, err)
			}
		}
	})
}

// TestFunctionsAreHosted: the session of a function or workflow belongs to its runner, and is no
// command: its work is in the log.
func TestFunctionsAreHosted(t *testing.T) {
	for _, kind := range []parley.AgentType{parley.AgentTypeFunction, parley.AgentTypeWorkflow} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, counted("x"))
			b := listens("calc", onSchema("s.v1"))
			b.Type = kind
			x := listeners(t, h, b)
			ann := h.LocalPrincipal("ann")
			id := create(t, h, ann, hall("calc"))
			seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
			ses := x.works("done")
			if r := recordOf(t, j, ses); r.Type != kind || !r.Hosted || r.Runner == nil || r.Runner.RunnerID != x.id || r.TimeoutMs != 0 {
				t.Errorf("record %+v", r)
			}
			logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc", "over completed", "note calc tool.response.v1")
		})
	}
}

// TestCommandThatSits: a command of a runner that takes the turns of a seat too is started as the command.
func TestCommandThatSits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := &host{id: "box"}
		x.runner = &runner{t: t, h: h}
		x.conn = h.Connect(x.notify, func() {})
		x.p = h.LocalPrincipal("ops").SpeakingAs("count").On(x.conn)
		x.mustRegister(parley.RegisterExecutorParams{ExecutorID: x.id, Agents: []string{"count"}, Mode: parley.ModePush,
			GraceMs: limits.OfflineMs, Capacity: 4})
		synctest.Wait()
		if names := x.says(counter("count")); names[0] != "count" {
			t.Errorf("it is found as %v", names)
		}
		s := start(t, h, h.LocalPrincipal("ann"), counts("count", 1, parley.ModeAsyncPoll, ""))
		if s.AgentType != parley.AgentTypeDeterministic || s.RunnerID != "box" {
			t.Fatalf("%+v", s)
		}
		x.works("done")
		stands(t, h, h.LocalPrincipal("ann"), s.SessionID, parley.SessionCompleted, "")
	})
}

// TestFirstWithSubscriptions: of two runners of a name the first with subscriptions counts, and when it leaves the next.
func TestFirstWithSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		first := speaker(t, h, "one", 4, []string{"calc"}, nil)
		second := speaker(t, h, "two", 4, []string{"calc"}, nil)
		synctest.Wait()
		first.says(listens("calc", onSchema("s.v1")))
		second.says(listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		second.noOffer()
		first.works("done")
		if _, err := first.bring(); err != nil {
			t.Fatal(err)
		}
		noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		first.noOffer()
		second.works("done")
	})
}
