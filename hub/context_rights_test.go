package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// TestContextIsForItsAgent: the context of a session is for its runner and admins, and for no one
// after its end. The context of a seat is for callers that may speak as it.
func TestContextIsForItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", fedBy))
		ann, root := h.LocalPrincipal("ann"), h.LocalPrincipal("root", parley.ScopeAdmin)
		id := create(t, h, ann, hall("calc"))
		noting(t, h, ann, id, "tool.request.v1", `{"tool":"calc","input":{"n":3}}`)
		o := x.oneOffer()
		claim := x.take(o.ConversationID, o.ClaimID)
		for who, c := range map[string]struct {
			p    *hub.Principal
			q    parley.GetContextParams
			want error
		}{
			"its caller, of the agent": {ann, parley.GetContextParams{ConversationID: o.ConversationID, AgentID: "calc"},
				parley.ErrForbidden},
			"its caller, by the claim": {ann, parley.GetContextParams{ConversationID: o.ConversationID, AgentID: "calc",
				ClaimID: claim.ClaimID}, parley.ErrForbidden},
			"who is called like the agent": {h.LocalPrincipal("calc"),
				parley.GetContextParams{ConversationID: o.ConversationID}, parley.ErrForbidden},
			"a stranger": {h.LocalPrincipal("eve"),
				parley.GetContextParams{ConversationID: o.ConversationID}, parley.ErrNotFound},
			"a stranger with a name": {h.LocalPrincipal("eve"),
				parley.GetContextParams{ConversationID: o.ConversationID, AgentID: "calc"}, parley.ErrNotFound},
			"of a seat that is not there": {x.p, parley.GetContextParams{ConversationID: o.ConversationID,
				AgentID: "nobody"}, parley.ErrForbidden},
			"of none":          {x.p, parley.GetContextParams{ConversationID: "none"}, parley.ErrNotFound},
			"of the hub's own": {root, parley.GetContextParams{ConversationID: "~runners"}, parley.ErrNotFound},
			"without scope": {h.LocalPrincipal("calc", parley.ScopeWrite),
				parley.GetContextParams{ConversationID: id}, parley.ErrForbidden},
			"a person, of the tool": {ann, parley.GetContextParams{ConversationID: id, AgentID: "calc"},
				parley.ErrForbidden},
			"the tool, of the person": {h.LocalPrincipal("calc"),
				parley.GetContextParams{ConversationID: id, AgentID: "ann"}, parley.ErrForbidden},
			"a reader of another workspace": {h.LocalPrincipal("eve").WithWorkspaces("w"),
				parley.GetContextParams{ConversationID: id, AgentID: "calc"}, parley.ErrNotFound},
			"the runner, in the parent": {x.p, parley.GetContextParams{ConversationID: id, AgentID: "ann"},
				parley.ErrForbidden},
			"a stranger, of the parent seat": {h.LocalPrincipal("eve"),
				parley.GetContextParams{ConversationID: id, AgentID: "calc"}, parley.ErrNotFound},
		} {
			r, err := h.GetContext(t.Context(), c.p, &c.q)
			if row := parley.ErrorRowOf(err); err == nil || row.Err != c.want {
				t.Errorf("%s: %+v, %v; want %v", who, r, err, c.want)
			}
		}
		// The caller's own seat has none: it is a peer there.
		if r := fed(t, h, ann, parley.GetContextParams{ConversationID: o.ConversationID}); r.Context != nil {
			t.Errorf("the caller is given %s", r.Context)
		}
		x.ends(o.ConversationID, claim.ClaimID, parley.OutcomeCompleted, ran("done"))
		for _, p := range []*hub.Principal{x.p, root} {
			_, err := h.GetContext(t.Context(), p, &parley.GetContextParams{ConversationID: o.ConversationID})
			refused(t, err, parley.ErrConversationClosed)
		}
	})
}

// TestContextWhenTheParentHasClosed: the session is stopped with it, and nothing is read through it any more.
func TestContextWhenTheParentHasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", fedBy))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		noting(t, h, ann, id, "tool.request.v1", `{"tool":"calc","input":{"n":3}}`)
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		shut(t, h, ann, id)
		synctest.Wait()
		_, err := h.GetContext(t.Context(), x.p, &parley.GetContextParams{ConversationID: o.ConversationID})
		refused(t, err, parley.ErrConversationClosed)
	})
}

const seen = `[{"schema_name":"go.v1"},
	{"schema_name":"s.v1","role":"context","scope":"workspace","fetch":"recent","key":"all"},
	{"schema_name":"s.v1","role":"context","scope":"workspace","key":"last"},
	{"schema_name":"s.v1","role":"context","scope":"workspace","fetch":{"method":"vector","nn":50},"key":"like"}]`

// TestContextOfWorkspaces looks at the conversations of the workspaces that the runner was granted, and at no others: not at those that the caller is granted beside, nor at sessions.
func TestContextOfWorkspaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := speaker(t, h, "ops", 4, []string{"calc"}, []string{"green", "blue"})
		synctest.Wait()
		x.says(listens("calc", seen))
		ann := h.LocalPrincipal("ann")
		green, blue, red, none := room(t, h, "green", parley.KindPeer), room(t, h, "blue", parley.KindPeer), room(t, h,
			"red", parley.KindPeer), room(t, h, "", parley.KindTool, "calc")
		for i, id := range []string{red, green, blue, none, blue, green, red} {
			noting(t, h, ann, id, "s.v1", fmt.Sprintf(`"apples %d"`, i))
			pass(1e9)
		}
		seq := noting(t, h, ann, none, "go.v1", `{"input":{"n":1},"like":"apples"}`)
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		r := fed(t, h, x.p, parley.GetContextParams{ConversationID: o.ConversationID})
		var got struct {
			All, Like []string
			Last      string
		}
		if err := json.Unmarshal(r.Context, &got); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.All) != "[apples 1 apples 2 apples 4 apples 5]" || got.Last != "apples 5" || len(got.Like) != 4 {
			t.Errorf("context %s", r.Context)
		}
		if c := r.Sources[0].Events; len(c) != 4 || c[0].ConversationID != green || c[1].ConversationID != blue || c[0].Seq != 2 {
			t.Errorf("sources %+v", r.Sources)
		}
		// Vectors that another agent made for red are not found by this one.
		y := speaker(t, h, "eve", 4, []string{"spy"}, []string{"red"})
		synctest.Wait()
		y.says(listens("spy", seen))
		there := create(t, h, ann, hall("spy"))
		noting(t, h, ann, there, "go.v1", `{"input":{"n":1},"like":"apples"}`)
		oy := y.oneOffer()
		y.take(oy.ConversationID, oy.ClaimID)
		if r := fed(t, h, y.p, parley.GetContextParams{ConversationID: oy.ConversationID}); strings.Count(string(r.Context),
			"apples 6") != 3 || strings.Contains(string(r.Context), "apples 1") {
			t.Errorf("eve's context %s", r.Context)
		}
		if r := fed(t, h, x.p,
			parley.GetContextParams{ConversationID: o.ConversationID}); strings.Contains(string(r.Context), "apples 6") ||
			strings.Contains(string(r.Context), "apples 3") {
			t.Errorf("context %s", r.Context)
		}
		// A caller that may speak as the agent and has other grants gets what the runner was
		// granted.
		who := h.LocalPrincipal("calc").WithWorkspaces("red")
		r = fed(t, h, who, parley.GetContextParams{ConversationID: none})
		if strings.Contains(string(r.Context), "apples 6") || !strings.Contains(string(r.Context), "apples 5") {
			t.Errorf("context %s", r.Context)
		}
		// A dry run shows no workspaces that the caller is not granted.
		if row := explained(t, h, ann, none, seq, "calc"); len(row.Context) != 0 {
			t.Errorf("ann is told %+v", row.Context)
		}
		if row := explained(t, h, ann.WithWorkspaces("green", "blue"), none, seq, "calc"); len(row.Context) != 3 ||
			len(row.Context[0].Events) != 4 {
			t.Errorf("ann is told %+v", row.Context)
		}
	})
}

// TestContextOfAnyWorkspace: conversations without a workspace, however many and new, take no place among those that are looked at.
func TestContextOfAnyWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), counted("x"))
		listens := listens("calc", seen)
		root := h.LocalPrincipal("root", parley.ScopeAdmin)
		conn := h.Connect(func(parley.ExecutorNotification) {}, func() {})
		p := root.On(conn)
		if _, err := one(func(done func(parley.RegisterExecutorResult, error)) {
			h.RegisterExecutor(p, &parley.RegisterExecutorParams{ExecutorID: "box"}, done)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := one(func(done func(parley.RegisterBlueprintsResult, error)) {
			h.RegisterBlueprints(p, &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{listens}}, done)
		}); err != nil {
			t.Fatal(err)
		}
		noting(t, h, h.LocalPrincipal("ann"), room(t, h, "green", parley.KindPeer), "s.v1", `"apples"`)
		id := ""
		for range 1001 {
			id = create(t, h, h.LocalPrincipal("ann"), hall("calc"))
		}
		r := fed(t, h, root, parley.GetContextParams{ConversationID: id, AgentID: "calc"})
		if !strings.Contains(string(r.Context), `"last":"apples"`) {
			t.Errorf("context %s, of %+v", r.Context, r.Sources)
		}
	})
}
