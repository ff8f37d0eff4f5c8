package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

const ofWorkspace = `[{"schema_name":"s.v1","scope":"workspace"}]`

// room creates a conversation of a workspace, of ann and others.
func room(t testing.TB, h *hub.Hub, workspace string, kind parley.ParticipantKind, others ...string) string {
	t.Helper()
	q := &parley.CreateConversationParams{
		Participants: append(seatsOf(kind, others...), parley.Participant{ID: "ann",
			Kind: parley.KindHuman}), Policy: &parley.Policy{Kind: parley.PolicyOpen}, Workspace: workspace,
	}
	return create(t, h, h.LocalPrincipal("ann").WithWorkspaces(workspace), q)
}

// watching connects a runner whose agent watches the workspaces that its token grants.
func watching(t testing.TB, h *hub.Hub, participant, agent, selectors string, workspaces ...string) *host {
	t.Helper()
	x := speaker(t, h, participant, 100, []string{agent}, workspaces)
	synctest.Wait()
	x.says(listens(agent, selectors))
	return x
}

// TestWatchers wake for what happens in the conversations of the workspaces that their token grants, and take no part in: by sessions, for notes and for messages.
func TestWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := watching(t, h, "ops", "calc", ofWorkspace, "green", "blue")
		ann := h.LocalPrincipal("ann")
		for name, id := range map[string]string{
			"another workspace": room(t, h, "red", parley.KindPeer),
			"no workspace":      room(t, h, "", parley.KindPeer),
		} {
			seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
			if synctest.Wait(); len(storyOf(t, j, id, seq)) != 1 {
				t.Fatalf("%s: %v", name, storyOf(t, j, id, seq))
			}
		}
		x.noOffer()
		id := room(t, h, "green", parley.KindPeer)
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		ses := x.works("done")
		logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc", "over completed", "note calc tool.response.v1")
		if r := recordOf(t, j, ses); r.Trigger == nil || !r.Trigger.Workspace || r.Caller != "ann" || r.AgentID != "calc" {
			t.Errorf("record %+v", r)
		}
		m := message(id, "", parley.FinalityTurn, "")
		m.Payload = json.RawMessage(`{"text":"hi","schema":"s.v1","data":{"input":{"n":1}}}`)
		seq = say(t, h, ann, m).Seq
		x.works("done")
		logIs(t, j, id, seq, "message ann turn", "woken calc", "begun calc", "over completed", "note calc tool.response.v1")
		row := explained(t, h, ann, id, seq, "calc")
		if !row.Workspace || row.State != parley.TriggerFinished || !row.Selectors[0].Matched {
			t.Errorf("row %+v", row)
		}
		// It is not woken in its own session, nor anybody else there.
		for _, e := range events(t, j, ses) {
			if sys, _ := e.System(); e.Type == parley.TypeSystem && sys.Kind == parley.KindTriggerMatched {
				t.Errorf("the session has %s", e.Raw())
			}
		}
		x.says(counter("calc")) // it watches no more
		seq = noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		logIs(t, j, id, seq, "note ann s.v1")
		quiet(t, h)
	})
}

// TestWatcherThatTakesPart: an agent with a seat is woken on that, once, whatever the scope; one whose name is another's seat is not woken, and the dry-run says why.
func TestWatcherThatTakesPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := watching(t, h, "ops", "calc", `[{"schema_name":"other.v1"},{"schema_name":"s.v1","scope":"workspace"},{"schema_name":"s.v1"}]`, "green")
		ann := h.LocalPrincipal("ann")
		id := room(t, h, "green", parley.KindTool, "calc")
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		x.works("done")
		logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc", "over completed", "note calc tool.response.v1")
		if row := explained(t, h, ann, id, seq, "calc"); row.Workspace || !strings.Contains(row.Because, "Selector 1,") {
			t.Errorf("row %+v", row)
		}
		// its workspace is not granted: the selectors of the conversation alone count
		red := room(t, h, "red", parley.KindTool, "calc")
		seq = noting(t, h, ann, red, "s.v1", `{"input":{"n":1}}`)
		x.works("done")
		if row := explained(t, h, ann, red, seq, "calc"); !strings.Contains(row.Because, "Selector 2,") ||
			row.Selectors[1].Matched {
			t.Errorf("row %+v", row)
		}
		for _, kind := range []parley.ParticipantKind{parley.KindPeer, parley.KindHuman} {
			id = room(t, h, "green", kind, "calc")
			seq = noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
			logIs(t, j, id, seq, "note ann s.v1")
			if row := explained(t, h, ann, id, seq, "calc"); row.WouldWake ||
				!strings.Contains(row.Because, "Another participant is called calc") {
				t.Errorf("row %+v", row)
			}
		}
		id = create(t, h, ann.WithWorkspaces("green"), &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman},
				{ID: "calc", Kind: parley.KindTool, Agent: "another"}}, Workspace: "green",
		})
		seq = noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		logIs(t, j, id, seq, "note ann s.v1")
		x.noOffer()
	})
}

// TestWatchersDoNotLoop: two that watch each other's answers stop at maxHops, though neither takes part.
func TestWatchersDoNotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := speaker(t, h, "ops", 100, []string{"a", "b"}, []string{"green"})
		synctest.Wait()
		var all []parley.Blueprint
		for _, name := range []string{"a", "b"} {
			b := listens(name, `[{"any_tags":[]},{"scope":"workspace"}]`)
			b.ParametersSchema = json.RawMessage(`{"type":"object"}`)
			all = append(all, b)
		}
		x.says(all...)
		id := room(t, h, "green", parley.KindPeer)
		noting(t, h, h.LocalPrincipal("ann"), id, "s.v1", `{}`)
		sessions := 0
		for more := x.offered(); len(more) > 0; more = x.offered() {
			for _, o := range more {
				x.take(o.ConversationID, o.ClaimID)
				x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done"))
				sessions++
			}
		}
		if want := 2 * parley.DefaultMaxHops; sessions != want { // both begin a chain
			t.Fatalf("%d sessions, want %d", sessions, want)
		}
		story := strings.Join(storyOf(t, j, id, 1), "\n")
		if strings.Count(story, "max_hops") != 2 {
			t.Fatalf("the log:\n%s", story)
		}
		quiet(t, h)
	})
}

// TestNarrowedTokenWatchesNothing: a token that reaches some conversations only is no reason to hear of others.
func TestNarrowedTokenWatchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		id := room(t, h, "green", parley.KindPeer)
		r, err := one(func(done func(parley.CreateTokenResult, error)) {
			h.CreateToken(h.LocalPrincipal("admin", parley.ScopeAdmin), &parley.CreateTokenParams{
				AgentID: "ops", Agents: []string{"calc"}, Workspaces: []string{"green"}, Conversations: []string{"elsewhere"},
			}, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.Authenticate(t.Context(), r.Token, "")
		if err != nil {
			t.Fatal(err)
		}
		x := &host{id: "box"}
		x.runner = &runner{t: t, h: h}
		x.conn = h.Connect(x.notify, func() {})
		x.p = p.On(x.conn)
		if _, err := x.register(parley.RegisterExecutorParams{ExecutorID: x.id, Mode: parley.ModePush,
			GraceMs: limits.OfflineMs, Capacity: 4}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.bring(listens("calc", ofWorkspace)); err != nil {
			t.Fatal(err)
		}
		seq := noting(t, h, h.LocalPrincipal("ann"), id, "s.v1", `{"input":{"n":1}}`)
		logIs(t, j, id, seq, "note ann s.v1")
	})
}

// TestManyWatchers: at most MaxWatchers wake for one event, and at most MaxExplained are explained.
func TestManyWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		var names []string
		var all []parley.Blueprint
		for i := range limits.MaxWatchers + 10 {
			names = append(names, fmt.Sprintf("w%02d", i))
			all = append(all, listens(names[i], ofWorkspace))
		}
		x := speaker(t, h, "ops", 100, names, []string{"green"})
		synctest.Wait()
		x.says(all...)
		id := room(t, h, "green", parley.KindPeer)
		ann := h.LocalPrincipal("ann")
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		synctest.Wait()
		sys, err := events(t, j, id)[seq].System()
		if err != nil || len(sys.Trigger.Wakes) != limits.MaxWatchers {
			t.Fatalf("%d wake: %v", len(sys.Trigger.Wakes), err)
		}
		r, err := h.ExplainTriggers(t.Context(), ann, &parley.ExplainTriggersParams{ConversationID: id, Seq: seq})
		if err != nil || len(r.Agents) != len(names) || r.More != 0 {
			t.Fatalf("%d rows, %d more: %v", len(r.Agents), r.More, err)
		}
	})
}
