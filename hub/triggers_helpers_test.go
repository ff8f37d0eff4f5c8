package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// seats of the tests of triggers: a person, and tools and agents by their ids.
func hall(tools ...string) *parley.CreateConversationParams {
	q := &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
		Policy: &parley.Policy{Kind: parley.PolicyTriggers}}
	for _, id := range tools {
		q.Participants = append(q.Participants, parley.Participant{ID: id, Kind: parley.KindTool})
	}
	return q
}

// listens is a blueprint, of a command that takes a number, that subscribes to what is given: selectors as a list of JSON.
func listens(name, selectors string) parley.Blueprint {
	b := counter(name)
	b.Subscriptions = json.RawMessage(`{"selectors":` + selectors + `}`)
	return b
}

// onSchema is a selector that is a trigger.
func onSchema(schema string) string { return `[{"schema_name":"` + schema + `"}]` }

// speaker connects the runner box of a participant, whose token may speak as some agents and grants some workspaces.
func speaker(t testing.TB, h *hub.Hub, participant string, capacity int, names, workspaces []string) *host {
	t.Helper()
	x := &host{id: "box-" + participant}
	x.runner = &runner{t: t, h: h}
	x.conn = h.Connect(x.notify, func() {})
	x.p = h.LocalPrincipal(participant).SpeakingAs(names...).WithWorkspaces(workspaces...).On(x.conn)
	x.mustRegister(parley.RegisterExecutorParams{ExecutorID: x.id, Mode: parley.ModePush, GraceMs: limits.OfflineMs, Capacity: capacity})
	return x
}

// listeners connects the runner of ops with blueprints, whose names its token may speak as.
func listeners(t testing.TB, h *hub.Hub, blueprints ...parley.Blueprint) *host {
	t.Helper()
	var names []string
	for _, b := range blueprints {
		names = append(names, b.Name)
	}
	x := speaker(t, h, "ops", 100, names, nil)
	synctest.Wait()
	x.says(blueprints...)
	return x
}

// noting posts a note, and returns its seq.
func noting(t testing.TB, h *hub.Hub, p *hub.Principal, id, schema, data string) int64 {
	t.Helper()
	r, err := one(func(done func(parley.SeqResult, error)) {
		h.SendNote(p, &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: schema,
			Data: json.RawMessage(data)}}, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

// storyOf summarizes a log from a seq on, one word for each event: notes by author and schema,
// matches by agent, sessions by outcome.
func storyOf(t testing.TB, j journal.Journal, id string, from int64) []string {
	t.Helper()
	var out []string
	for _, e := range events(t, j, id) {
		if e.Seq < from {
			continue
		}
		if e.Type != parley.TypeSystem {
			out = append(out, fmt.Sprintf("%s %s %s", e.Type, e.From, e.Finality))
			continue
		}
		sys, err := e.System()
		if err != nil {
			t.Fatal(err)
		}
		word := sys.Kind
		switch sys.Kind {
		case parley.KindNote:
			word = "note " + e.From + " " + sys.Schema
		case parley.KindTriggerMatched:
			var who []string
			for _, w := range sys.Trigger.Wakes {
				who = append(who, strings.TrimSuffix(w.AgentID+" "+w.Stopped, " "))
			}
			word = "woken " + strings.Join(who, ",")
		case parley.KindTriggerEnded:
			word = "not " + sys.Trigger.AgentID + " " + sys.Trigger.Reason
		case parley.KindSessionStarted:
			word = "begun " + sys.Agent
		case parley.KindSessionEnded:
			word = "over " + string(sys.Status)
		case parley.KindTurnClaimed:
			word = "claimed " + sys.AgentID
		}
		out = append(out, word)
	}
	return out
}

// logIs fails the test unless a log says so, from a seq on. The caller is in a bubble.
func logIs(t testing.TB, j journal.Journal, id string, from int64, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := storyOf(t, j, id, from); !slices.Equal(got, want) {
		t.Fatalf("the log of %s:\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// answered returns the answers in a log, with their notes.
func answered(t testing.TB, j journal.Journal, id string) (all []parley.Answer, notes []parley.Event) {
	t.Helper()
	for _, e := range events(t, j, id) {
		sys, err := e.System()
		if e.Type != parley.TypeSystem || err != nil || sys.Kind != parley.KindNote ||
			!strings.HasSuffix(sys.Schema, ".response.v1") {
			continue
		}
		var a parley.Answer
		if err := json.Unmarshal(sys.Data, &a); err != nil {
			t.Fatal(err)
		}
		all, notes = append(all, a), append(notes, e)
	}
	return all, notes
}

// parameters returns the parameters of a session.
func parameters(t testing.TB, j journal.Journal, session string) string {
	t.Helper()
	for _, e := range events(t, j, session) {
		if e.Type == parley.TypeMessage {
			m, err := e.Message()
			if err != nil {
				t.Fatal(err)
			}
			return string(m.Parameters)
		}
	}
	t.Fatalf("the session %s has no message", session)
	return ""
}

// shut closes a conversation.
func shut(t testing.TB, h *hub.Hub, p *hub.Principal, id string) {
	t.Helper()
	if _, err := h.Client(p).CloseConversation(t.Context(),
		&parley.CloseConversationParams{ConversationID: id}); err != nil {
		t.Fatal(err)
	}
}

// explained asks for the row of an agent.
func explained(t testing.TB, h *hub.Hub, p *hub.Principal, id string, seq int64, agent string) parley.TriggerExplained {
	t.Helper()
	r, err := h.ExplainTriggers(t.Context(), p, &parley.ExplainTriggersParams{ConversationID: id, Seq: seq})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Agents {
		if row.AgentID == agent {
			return row
		}
	}
	t.Fatalf("no row of %s in %+v", agent, r.Agents)
	return parley.TriggerExplained{}
}

// recordOf returns the record of a session in conversation_created.
func recordOf(t testing.TB, j journal.Journal, id string) *parley.SessionRecord {
	t.Helper()
	sys, err := events(t, j, id)[0].System()
	if err != nil || sys.Session == nil {
		t.Fatalf("%s is no session: %v", id, err)
	}
	return sys.Session
}
