package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestCollision: a name belongs to the runner that was the first to have it, over restarts too; the next one's agent has its runner in its name, until it is the
// first.
func TestCollision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		ann := h.LocalPrincipal("ann")
		first, second := hosts(t, h, counter("count")), arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "late"})
		if got := second.says(counter("count"), counter("more")); fmt.Sprint(got) != "[count@late more]" {
			t.Fatalf("%q", got)
		}
		agentsAre(t, h, "count of box", "count@late of late", "more of late")
		takenBy := func(name, runner string) {
			t.Helper()
			s := start(t, h, ann, counts(name, 1, parley.ModeAsyncPoll, ""))
			if s.RunnerID != runner || s.AgentName != name {
				t.Fatalf("%s is run by %s", s.AgentName, s.RunnerID)
			}
			x := map[string]*host{"box": first, "late": second}[runner]
			if o := x.oneOffer(); o.AgentID != "count" { // the name of the seat has no runner
				t.Fatalf("%+v", o)
			} else {
				x.take(o.ConversationID, o.ClaimID)
				x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("x"))
			}
		}
		takenBy("count", "box")
		takenBy("count@box", "box")
		takenBy("count@late", "late")
		first.says(counter("other"), counter("count")) // an agent that is registered again keeps its place
		takenBy("count", "box")

		next := crash(t, j)
		h = startOn(t, next, counted("y"))
		ann = h.LocalPrincipal("ann")
		agentsAre(t, h, "count of box (away)", "count@late of late (away)", "more of late (away)", "other of box (away)")
		second = arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "late"})
		if got := second.says(counter("count"), counter("more")); fmt.Sprint(got) != "[count@late more]" {
			t.Fatalf("who is back first after a restart is first: %q", got)
		}
		first = hosts(t, h, counter("count"))
		agentsAre(t, h, "count of box", "count@late of late", "more of late")
		first.says()
		agentsAre(t, h, "count of late", "more of late")
		takenBy("count", "late")
		takenBy("count@late", "late")
		_, err := h.StartSession(t.Context(), ann, counts("count@box", 1, parley.ModeAsyncPoll, ""))
		refused(t, err, parley.ErrNotFound)
		if got := first.says(counter("count")); got[0] != "count@box" {
			t.Fatalf("%q", got)
		}
	})
}

// TestRunnerIDs: the id of a runner belongs to one participant. An agent of the hub's process keeps
// its name.
func TestRunnerIDs(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		if _, err := h.RegisterAgent(parley.AgentInfo{Name: "count", Type: parley.AgentTypeAgent}); err != nil {
			t.Fatal(err)
		}
		x := hosts(t, h)
		if got := x.says(counter("count")); got[0] != "count@box" {
			t.Fatalf("%q", got)
		}
		thief := arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "box"})
		before := j.Last()
		_, err := thief.bring(counter("mine"))
		refused(t, err, parley.ErrAlreadyExists)
		if j.Last() != before {
			t.Error("something was written")
		}
		thief.says() // nor can it make the other leave
		agentsAre(t, h, "count", "count@box of box")
		s := start(t, h, h.LocalPrincipal("ann"), &parley.StartSessionParams{AgentName: "count", Prompt: "p",
			Mode: parley.ModeAsyncPoll})
		if s.AgentType != parley.AgentTypeAgent {
			t.Errorf("%+v", s)
		}
		x.says()
		if got := thief.says(counter("mine")); got[0] != "mine" {
			t.Errorf("%q", got)
		}
	})
}

// TestExecutorsGoFirst: a blueprint does not take the name of an agent that executors serve.
func TestExecutorsGoFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("writer"))
		agentsAre(t, h, "writer of box")
		w := push(t, h, "w1", "writer")
		agentsAre(t, h, "writer", "writer@box of box")
		s := start(t, h, h.LocalPrincipal("ann"), &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
			Mode: parley.ModeAsyncPoll})
		if o := w.oneOffer(); o.ConversationID != s.SessionID || s.AgentType != parley.AgentTypeAgent {
			t.Errorf("%+v %+v", o, s)
		}
		x.noOffer()
		if s := start(t, h, h.LocalPrincipal("ann"), counts("writer@box", 1, parley.ModeAsyncPoll, "")); s.RunnerID != "box" {
			t.Errorf("%+v", s)
		}
		w.conn.Close()
		agentsAre(t, h, "writer of box")
	})
}

// TestBlueprintsRefused: the refusal of blueprints describes the faults, and the previous
// blueprints stay.
func TestBlueprintsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("good"))
		before := j.Last()
		bad := counter("bad")
		bad.TimeoutMs = 99
		_, err := x.bring(counter("first"), bad)
		refused(t, err, parley.ErrValidationFailed)
		_, err = x.bring(counter("twice"), counter("twice"))
		refused(t, err, parley.ErrValidationFailed)
		var all []parley.Blueprint
		for i := range limits.MaxBlueprints + 1 {
			all = append(all, counter(fmt.Sprint("b", i)))
		}
		_, err = x.bring(all...)
		refused(t, err, parley.ErrValidationFailed)
		agentsAre(t, h, "good of box")
		if j.Last() != before {
			t.Error("something was written")
		}
		if names := x.says(all[:limits.MaxBlueprints]...); len(names) != limits.MaxBlueprints {
			t.Errorf("%d names", len(names))
		}
		for _, p := range []*hub.Principal{h.LocalPrincipal("ops"), h.LocalPrincipal("ops").On(h.Connect(nil, nil))} {
			_, err := one(func(done func(parley.RegisterBlueprintsResult, error)) {
				h.RegisterBlueprints(p, &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{counter("x")}}, done)
			})
			refused(t, err, parley.ErrValidationFailed)
		}
		weak := h.LocalPrincipal("ops", parley.ScopeRead, parley.ScopeWrite, parley.ScopeCreate).On(x.conn)
		_, err = one(func(done func(parley.RegisterBlueprintsResult, error)) {
			h.RegisterBlueprints(weak, &parley.RegisterBlueprintsParams{}, done)
		})
		refused(t, err, parley.ErrForbidden)
	})
}

// TestTooManyAgents: all that runners say fits into one answer of listAgents.
func TestTooManyAgents(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		large := func(name string) parley.Blueprint {
			b := counter(name)
			b.ParametersSchema = json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", limits.MaxAgentSchemaBytes-100) + `"}`)
			return b
		}
		n, err := 0, error(nil)
		for ; err == nil && n < 1000; n++ {
			x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: fmt.Sprint("r", n)})
			_, err = x.bring(large(fmt.Sprint("a", n)))
		}
		refused(t, err, parley.ErrTooLarge)
		r, err := h.ListAgents(t.Context(), h.LocalPrincipal("ann"), nil)
		if err != nil || len(r.Agents) != n-1 || n < 2 {
			t.Fatalf("%d agents of %d, %v", len(r.Agents), n-1, err)
		}
		if b, err := json.Marshal(r); err != nil || len(b) > limits.MaxPageBytes {
			t.Fatalf("the answer has %d bytes, %v", len(b), err)
		}
	})
}

// TestDemands: a session goes to the first runner that has what it demands, in the labels of the runner or of the blueprint.
func TestDemands(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		ann := h.LocalPrincipal("ann")
		plain := hosts(t, h, counter("count"))
		gpu := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "gpu", Labels: map[string]string{"gpu": "1", "os": "linux"}})
		mac := counter("count")
		mac.Labels = map[string]string{"os": "mac"} // a blueprint's label goes before its runner's
		gpu.says(mac)
		demanding := func(demands map[string]string) *parley.Session {
			q := counts("count", 1, parley.ModeAsyncPoll, "")
			q.Demands = demands
			return start(t, h, ann, q)
		}
		for _, c := range []struct {
			demands map[string]string
			runner  string
		}{
			{nil, "box"}, {map[string]string{}, "box"}, {map[string]string{"gpu": "1"}, "gpu"}, {map[string]string{"os": "mac"}, "gpu"},
			{map[string]string{"gpu": "1", "os": "mac"}, "gpu"}, {map[string]string{"os": "linux"},
				""}, {map[string]string{"gpu": "2"}, ""},
			{map[string]string{"gpu": "1", "x": ""}, ""},
		} {
			s := demanding(c.demands)
			if s.RunnerID != c.runner || s.Status != parley.SessionPending {
				t.Errorf("%v goes to %q, which is %s", c.demands, s.RunnerID, s.Status)
			}
		}
		synctest.Wait()
		if n, m := len(plain.offered()), len(gpu.offered()); n != 2 || m != 3 {
			t.Errorf("%d and %d offers", n, m)
		}
	})
}

// TestNoMatch: a session that no runner matches fails in time; a late runner that does gets it, if it takes the parameters.
func TestNoMatch(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		ann := h.LocalPrincipal("ann")
		hosts(t, h, counter("count"))
		q := counts("count", 1, parley.ModeAsyncPoll, "")
		q.Demands = map[string]string{"gpu": "1"}
		id := start(t, h, ann, q).SessionID
		pass(100 * time.Second)
		stricter := counter("count")
		stricter.ParametersSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":5}}}`)
		strict := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "strict",
			Labels: map[string]string{"gpu": "1"}})
		strict.says(stricter)
		strict.noOffer()
		pass(80*time.Second - time.Millisecond)
		stands(t, h, ann, id, parley.SessionPending, "")
		pass(time.Millisecond)
		failsAs(t, h, ann, id, parley.ReasonNoRunner, "No matching runner available within timeout")
		strict.says()

		id = start(t, h, ann, q).SessionID
		if g, err := h.GetGuidance(t.Context(), ann, &parley.GetGuidanceParams{ConversationID: id}); err != nil ||
			!strings.Contains(g.Guidance.Reason, "No executor of count is registered.") {
			t.Errorf("%+v %v", g, err)
		}
		_, err := claimTurn(h, h.LocalPrincipal("ops"), parley.ClaimTurnParams{ConversationID: id, Turn: 2})
		refused(t, err, parley.ErrNotFound)
		pass(170 * time.Second)
		late := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "late", Labels: map[string]string{"gpu": "1"}})
		late.says(counter("count"))
		if o := late.oneOffer(); o.ConversationID != id {
			t.Fatalf("%+v", o)
		} else {
			late.take(id, o.ClaimID)
			pass(time.Minute)
			late.ends(id, o.ClaimID, parley.OutcomeCompleted, ran("x"))
		}
		if s := stands(t, h, ann, id, parley.SessionCompleted, ""); s.RunnerID != "late" {
			t.Errorf("%+v", s)
		}
		wantTurns(t, j, id, "ann:turn", "session_bound", "claimed(late 1)", "count:conversation")
	})
}

// TestDemandsOfAgents: an agent that executors run is asked of those that have the labels.
func TestDemandsOfAgents(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		q := &parley.StartSessionParams{AgentName: "writer", Prompt: "p", Mode: parley.ModeAsyncPoll,
			Demands: map[string]string{"gpu": "1"}}
		id := start(t, h, ann, q).SessionID
		pass(time.Minute)
		w.noOffer()
		_, err := claimTurn(h, w.p, parley.ClaimTurnParams{ConversationID: id, Turn: 2})
		refused(t, err, parley.ErrForbidden)
		x := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "w2", Agents: []string{"writer"},
			Labels: map[string]string{"gpu": "1"}})
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		_, err = x.register(parley.RegisterExecutorParams{ExecutorID: "w3", Labels: many(limits.MaxLabels + 1)})
		refused(t, err, parley.ErrValidationFailed)
		id = start(t, h, ann, q).SessionID
		say(t, h, x.p, under(message(o.ConversationID, "done", parley.FinalityConversation, ""), o.ClaimID))
		if got := x.oneOffer(); got.ConversationID != id {
			t.Fatal(got)
		}
		x.conn.Close()
		pass(limits.SessionQueueMs * time.Millisecond)
		failsAs(t, h, ann, id, parley.ReasonNoRunner, "No matching runner available within timeout")
	})
}
