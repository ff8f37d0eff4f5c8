package hub_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestWhoSeesASession: its caller, its agent and admins; what its agent thinks only the agent, and who may see traces.
func TestWhoSeesASession(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a := h.LocalPrincipal("a")
		parent := team(t, h, parley.PolicyOpen)
		id := start(t, h, a, counts("count", 1, parley.ModeAsyncPoll, parent)).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		if _, err := one(func(done func(parley.SendResult, error)) {
			h.SendTrace(x.p, &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(`{"kind":"progress","text":"SECRET"}`)}, done)
		}); err != nil {
			t.Fatal(err)
		}
		admin := h.LocalPrincipal("root", parley.ScopeAdmin)
		tracer := h.LocalPrincipal("a", append(slices.Clone(parley.DefaultScopes), parley.ScopeTrace)...)
		for name, c := range map[string]struct {
			p              *hub.Principal
			sees, trace    bool // the conversation
			gets, progress bool // the session
		}{
			"the caller":                 {a, true, false, true, true},
			"the caller, with its scope": {tracer, true, true, true, true},
			"the runner":                 {x.p, true, true, true, true},
			"an admin":                   {admin, true, true, true, true},
			"an agent of the parent":     {h.LocalPrincipal("b"), false, false, false, false},
			"a human of the parent":      {h.LocalPrincipal("hal"), false, false, false, false},
			"a stranger":                 {h.LocalPrincipal("eve"), false, false, false, false},
			"another of the runner's":    {h.LocalPrincipal("ops2"), false, false, false, false},
			"one who is called like it":  {h.LocalPrincipal("count"), true, true, true, true},
		} {
			page, err := h.Tail(t.Context(), c.p, &parley.TailParams{ConversationID: id})
			if (err == nil) != c.sees {
				t.Errorf("%s: tail gives %v", name, err)
			}
			shown := false
			for _, e := range page.Events {
				shown = shown || strings.Contains(string(e), "SECRET")
			}
			if shown != c.trace {
				t.Errorf("%s: the trace is shown: %t", name, shown)
			}
			s, err := h.GetSession(t.Context(), c.p, &parley.GetSessionParams{SessionID: id})
			if (err == nil) != c.gets || err == nil && (s.Progress != nil) != c.progress {
				t.Errorf("%s: %+v %v", name, s, err)
			}
			if err != nil {
				refused(t, err, parley.ErrNotFound)
			}
		}
		for _, none := range []string{"", "ses_absent", parent, "~tokens", "~runners", strings.Repeat("x", 300), "a/b"} {
			_, err := h.GetSession(t.Context(), a, &parley.GetSessionParams{SessionID: none})
			refused(t, err, parley.ErrNotFound)
			_, err = h.StopSession(t.Context(), admin, &parley.StopSessionParams{SessionID: none})
			refused(t, err, parley.ErrNotFound)
		}
		if _, err := one(func(done func(*parley.Snapshot, error)) {
			h.CreateConversation(a, &parley.CreateConversationParams{ConversationID: "ses_mine", Participants: seats("a")}, done)
		}); !errors.Is(err, parley.ErrValidationFailed) {
			t.Errorf("an id like a session's: %v", err)
		}
	})
}

// TestRunnersAreTheHubs: only admins read the log of runners.
func TestRunnersAreTheHubs(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		for _, c := range calls {
			if _, err := c.do(h, x.p, "~runners"); !errors.Is(err, parley.ErrNotFound) {
				t.Errorf("%s: %v", c.method, err)
			}
		}
		if page, err := h.Tail(t.Context(), h.LocalPrincipal("root", parley.ScopeAdmin),
			&parley.TailParams{ConversationID: "~runners"}); err != nil || len(page.Events) != 2 {
			t.Errorf("%+v %v", page, err)
		}
	})
}

// TestStop: the starter of a session, people of its parent, and admins stop it. An ended session
// does not change.
func TestStop(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a := h.LocalPrincipal("a")
		parent := team(t, h, parley.PolicyOpen)
		stop := func(p *hub.Principal, id string) (*parley.Session, error) {
			return h.StopSession(t.Context(), p, &parley.StopSessionParams{SessionID: id, Reason: "enough"})
		}
		for name, c := range map[string]struct {
			p     *hub.Principal
			err   error
			reads bool
		}{
			"the caller":             {a, nil, true},
			"an admin":               {h.LocalPrincipal("root", parley.ScopeAdmin), nil, true},
			"a human of the parent":  {h.LocalPrincipal("hal"), nil, false},
			"an agent of the parent": {h.LocalPrincipal("b"), parley.ErrNotFound, false},
			"a stranger":             {h.LocalPrincipal("eve"), parley.ErrNotFound, false},
			"its agent":              {x.p, parley.ErrForbidden, false},
			"who may only read":      {h.LocalPrincipal("a", parley.ScopeRead), parley.ErrForbidden, false},
		} {
			for _, running := range []bool{true, false} {
				id := start(t, h, a, counts("count", 1, parley.ModeAsyncPoll, parent)).SessionID
				o := x.oneOffer()
				if c.p == x.p {
					running = true
				}
				if running {
					x.take(id, o.ClaimID)
				}
				s, err := stop(c.p, id)
				if c.err != nil {
					refused(t, err, c.err)
					if got := session(t, h, a, id); got.Status.Ended() {
						t.Errorf("%s: %+v", name, got)
					}
					if _, err := stop(a, id); err != nil {
						t.Fatal(err)
					}
					x.ended()
					continue
				}
				if err != nil || s.Status != parley.SessionStopped || s.Reason != parley.ReasonStopped ||
					(s.Result != nil) != c.reads {
					t.Fatalf("%s: %+v %v", name, s, err)
				}
				if got := session(t, h, a, id).Result; got.Error != "The session was stopped by "+c.p.AgentID+": enough" ||
					got.ResultText != nil {
					t.Errorf("%s: %+v", name, got)
				}
				if running {
					if got := x.ended(); len(got) != 1 || got[0].ConversationID != id || got[0].Reason != parley.ClaimClosed {
						t.Errorf("%s: the runner is told %+v", name, got)
					}
				}
				synctest.Wait() // the parent knows of the end
				before := j.Last()
				if again, err := stop(c.p, id); err != nil || again.Status != parley.SessionStopped || j.Last() != before {
					t.Errorf("%s, again: %+v %v", name, again, err)
				}
			}
		}
		x.ended()
		id := start(t, h, a, counts("count", 1, parley.ModeAsyncPoll, parent)).SessionID
		x.offered()
		_, err := h.StopSession(t.Context(), a, &parley.StopSessionParams{SessionID: id, Reason: "a\x00b"})
		refused(t, err, parley.ErrValidationFailed)
		_, err = h.StopSession(t.Context(), a, &parley.StopSessionParams{SessionID: id, Reason: strings.Repeat("x",
			parley.MaxReasonBytes+1)})
		refused(t, err, parley.ErrValidationFailed)
		if _, err := stop(a, id); err != nil {
			t.Fatal(err)
		}
		done := start(t, h, a, counts("count", 1, parley.ModeAsyncPoll, parent)).SessionID
		x.works("done")
		if s, err := stop(a, done); err != nil || s.Status != parley.SessionCompleted || *s.Result.ResultText != "done" {
			t.Errorf("one that has ended: %+v %v", s, err)
		}
		if s, err := stop(h.LocalPrincipal("hal"), done); err != nil || s.Status != parley.SessionCompleted || s.Result != nil {
			t.Errorf("one that has ended, by a human: %+v %v", s, err)
		}
		quiet(t, h)
	})
}

// TestOnlyItsRunner: only the runner that registered a blueprint gets its sessions.
func TestOnlyItsRunner(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		id := start(t, h, h.LocalPrincipal("ann"), counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		o := x.oneOffer()
		executor := func(participant, id string, agents ...string) *hub.Principal {
			return arrive(t, h, participant, parley.RegisterExecutorParams{ExecutorID: id, Agents: agents}).p
		}
		admin := connect(t, h, h.LocalPrincipal("root", parley.ScopeAdmin))
		admin.mustRegister(parley.RegisterExecutorParams{ExecutorID: "box", Agents: []string{"count"}, Mode: parley.ModePush})
		if n := len(admin.offered()); n != 0 {
			t.Errorf("%d offers to an admin", n)
		}
		for name, c := range map[string]struct {
			p   *hub.Principal
			err error
		}{
			"who is called like it":               {h.LocalPrincipal("count"), parley.ErrForbidden},
			"an executor of agents of its name":   {executor("count", "c1", "count"), parley.ErrForbidden},
			"one with the id of the runner":       {executor("count", "box", "count"), parley.ErrForbidden},
			"another executor of its participant": {executor("ops", "box2"), parley.ErrForbidden},
			"its participant, on no connection":   {h.LocalPrincipal("ops"), parley.ErrForbidden},
			"its caller":                          {h.LocalPrincipal("ann"), parley.ErrForbidden},
			"an admin with its id":                {admin.p, parley.ErrForbidden},
			"a stranger":                          {h.LocalPrincipal("eve"), parley.ErrNotFound},
		} {
			_, err := claimTurn(h, c.p, parley.ClaimTurnParams{ConversationID: id, Turn: 2})
			if !errors.Is(err, c.err) {
				t.Errorf("%s: %v, want %v", name, err, c.err)
			}
			if _, err := claimTurn(h, c.p, parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID}); err == nil {
				t.Errorf("%s takes the offer", name)
			}
			for _, f := range []parley.Finality{parley.FinalityNone, parley.FinalityConversation} {
				if err := (<-post(h, c.p, message(id, "mine", f, ""))).err; err == nil {
					t.Errorf("%s speaks, with finality %s", name, f)
				}
			}
		}
		c := x.take(id, o.ClaimID)
		if err := (<-post(h, h.LocalPrincipal("count"), message(id, "mine", parley.FinalityConversation,
			""))).err; !errors.Is(err, parley.ErrClaimRequired) {
			t.Errorf("%v", err)
		}
		x.ends(id, c.ClaimID, parley.OutcomeCompleted, ran("x"))
		wantTurns(t, j, id, "ann:turn", "claimed(box 1)", "count:conversation")
	})
}

// TestLateResults: a result under a claim that ended, or that another attempt replaced, is refused.
func TestLateResults(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		b := counter("count")
		b.Idempotent, b.TimeoutMs = true, 1000
		x := hosts(t, h, b)
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		old := x.oneOffer().ClaimID
		x.take(id, old)
		pass(11 * time.Second) // it has expired
		pass(time.Second)
		o := x.offered()
		claim := o[len(o)-1].ClaimID
		x.take(id, claim)
		refused(t, (<-post(h, x.p, closing(id, old, parley.OutcomeCompleted, ran("old")))).err, parley.ErrClaimLost)
		x.ends(id, claim, parley.OutcomeCompleted, ran("new"))
		if s := session(t, h, ann, id); *s.Result.ResultText != "new" {
			t.Errorf("%+v", s.Result)
		}
	})
}
