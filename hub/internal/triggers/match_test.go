package triggers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/hubtest"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/selector"
)

func newService(t *testing.T) *Service {
	t.Helper()
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	return New(Options{Engine: hubtest.NewEngine(t, j), NewID: func(prefix string) string { return prefix + "1" }})
}

// subscriber returns an agent whose token grants workspaces.
func subscriber(t *testing.T, name, subscriptions string, workspaces ...string) *registry.Blueprint {
	t.Helper()
	set, faults := selector.Compile(json.RawMessage(subscriptions))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return &registry.Blueprint{
		Blueprint: parley.Blueprint{Name: name}, Selectors: set,
		Runner: &registry.Runner{RunnerRecord: parley.RunnerRecord{
			RunnerRef: parley.RunnerRef{RunnerID: name, ParticipantID: "ops"}, Workspaces: workspaces,
		}},
	}
}

// describe returns the wakes in the form "agent#selector", with a + for a wake that starts a session and
// an @ for a watcher of the workspace.
func describe(wakes []parley.Wake) string {
	var all []string
	for _, w := range wakes {
		text := w.Agent + "#" + string(rune('0'+w.Selector))
		if w.SessionID != "" {
			text += "+"
		}
		if w.Workspace {
			text += "@"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

const (
	onOrder     = `{"selectors":[{"schema_name":"order.v1"}]}`
	inWorkspace = `{"selectors":[{"schema_name":"order.v1","scope":"workspace"}]}`
)

func TestMatch(t *testing.T) {
	note := func(from, schema string) *event {
		return eventOfNote(from, &parley.Note{Schema: schema, Data: json.RawMessage(`{}`)})
	}
	message, err := eventOfMessage("ann", []byte(`{"text":"x","schema":"order.v1","data":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	tool := func(id, agent string) parley.Participant {
		return parley.Participant{ID: id, Kind: parley.KindTool, Agent: agent}
	}
	own := `{"selectors":[{"schema_name":"order.v1"}],"include_self":true}`
	both := `{"selectors":[{"schema_name":"bill.v1"},{"schema_name":"order.v1","scope":"workspace"},` +
		`{"schema_name":"order.v1"}]}`
	for _, test := range []struct {
		name      string
		agents    []*registry.Blueprint
		seats     []parley.Participant
		workspace string
		policy    parley.PolicyKind
		event     *event
		want      string
	}{
		{"no subscriptions", nil, []parley.Participant{tool("calc", "")}, "", "", note("ann", "order.v1"), ""},
		{"a note", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("calc", "")}, "", "", note("ann", "order.v1"), "calc#0+"},
		{"another schema", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("calc", "")}, "", "", note("ann", "bill.v1"), ""},
		{"no seat", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("other", "")}, "", "", note("ann", "order.v1"), ""},
		{"a person with the name", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{{ID: "calc", Kind: parley.KindHuman}}, "", "", note("ann", "order.v1"), ""},
		{"two seats of one agent", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("one", "calc"), tool("two", "calc")}, "", "", note("ann", "order.v1"),
			"calc#0+ calc#0+"},
		{"its own note", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("calc", "")}, "", "", note("calc", "order.v1"), ""},
		{"its own note, included", []*registry.Blueprint{subscriber(t, "calc", own)},
			[]parley.Participant{tool("calc", "")}, "", "", note("calc", "order.v1"), "calc#0+"},
		{"a message under another policy", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("calc", "")}, "", parley.PolicyOpen, message, ""},
		{"a message under triggers", []*registry.Blueprint{subscriber(t, "calc", onOrder)},
			[]parley.Participant{tool("calc", "")}, "", parley.PolicyTriggers, message, "calc#0"},
		{"the first selector where it takes part", []*registry.Blueprint{subscriber(t, "calc", both)},
			[]parley.Participant{tool("calc", "")}, "lab", "", note("ann", "order.v1"), "calc#2+"},
		{"the first selector of a granted workspace", []*registry.Blueprint{subscriber(t, "calc", both, "lab")},
			[]parley.Participant{tool("calc", "")}, "lab", "", note("ann", "order.v1"), "calc#1+"},
		{"a watcher", []*registry.Blueprint{subscriber(t, "calc", inWorkspace, "lab")},
			nil, "lab", parley.PolicyOpen, message, "calc#0+@"},
		{"a watcher of every workspace", []*registry.Blueprint{subscriber(t, "calc", inWorkspace, "*")},
			nil, "lab", "", note("ann", "order.v1"), "calc#0+@"},
		{"a watcher of another workspace", []*registry.Blueprint{subscriber(t, "calc", inWorkspace, "shop")},
			nil, "lab", "", note("ann", "order.v1"), ""},
		{"a watcher whose name is taken", []*registry.Blueprint{subscriber(t, "calc", inWorkspace, "lab")},
			[]parley.Participant{{ID: "calc", Kind: parley.KindHuman}}, "lab", "", note("ann", "order.v1"), ""},
		{"the runner of the workspace before that of all",
			[]*registry.Blueprint{subscriber(t, "calc", `{"selectors":[{"scope":"workspace"}]}`, "*"),
				subscriber(t, "calc", inWorkspace, "lab")},
			nil, "lab", "", note("ann", "bill.v1"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t)
			s.SubscriptionsChanged("calc", test.agents)
			state := fold.State{
				ID: "c1", Seq: 1, Status: parley.StatusActive, Workspace: test.workspace,
				Policy: parley.Policy{Kind: test.policy}, Roster: fold.Roster{Participants: test.seats},
			}
			if got := describe(s.match(&state, test.event)); got != test.want {
				t.Errorf("it triggers %q, want %q", got, test.want)
			}
			state.Status = parley.StatusClosed
			if got := describe(s.match(&state, test.event)); got != "" {
				t.Errorf("after the close it triggers %q", got)
			}
			state.Status, state.Session = parley.StatusActive, &parley.SessionRecord{Root: "c1"}
			if got := describe(s.match(&state, test.event)); got != "" {
				t.Errorf("in a session it triggers %q", got)
			}
		})
	}
}

// A change replaces the agents of a name, and leaves nothing of those that it replaces.
func TestSubscriptionsChanged_Replaces(t *testing.T) {
	s := newService(t)
	first, second := subscriber(t, "calc", inWorkspace, "lab", "shop"), subscriber(t, "calc", inWorkspace, "shop")
	s.SubscriptionsChanged("calc", []*registry.Blueprint{first, second})
	if s.FindSeated("calc") != first || s.findWatcher("calc", "lab") != first || s.findWatcher("calc", "shop") != first {
		t.Error("the first runner does not have the name")
	}
	s.SubscriptionsChanged("calc", []*registry.Blueprint{second})
	if s.FindSeated("calc") != second || s.findWatcher("calc", "lab") != nil || s.findWatcher("calc", "shop") != second {
		t.Error("the second runner did not replace the first")
	}
	s.SubscriptionsChanged("calc", nil)
	if n := len(s.agents) + len(s.indexes) + len(s.watches) + int(s.known.Load()); n > 0 {
		t.Errorf("%d entries are left after the last runner", n)
	}
}

// A wake that starts a session has the schema of its answer: the one of the subscription, or else that of
// its kind of agent.
func TestNewWake_AnswerSchema(t *testing.T) {
	s := newService(t)
	agent := subscriber(t, "calc", onOrder)
	agent.Type = parley.AgentTypeAgent
	for _, test := range []struct {
		name  string
		agent *registry.Blueprint
		want  string
	}{
		{"of the subscription", subscriber(t, "calc", `{"selectors":[{}],"answer_schema":"sum.v1"}`), "sum.v1"},
		{"of a command", subscriber(t, "calc", onOrder), parley.ToolResponseSchema},
		{"of an agent", agent, parley.AgentResponseSchema},
	} {
		want := parley.Wake{Agent: "calc", AgentID: "seat", Selector: 2, SessionID: "ses_1", AnswerSchema: test.want}
		if d := cmp.Diff(want, s.newWake(test.agent, "calc", "seat", 2, true)); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
		want.SessionID, want.AnswerSchema = "", ""
		if d := cmp.Diff(want, s.newWake(test.agent, "calc", "seat", 2, false)); d != "" {
			t.Errorf("%s, for a turn (-want +got):\n%s", test.name, d)
		}
	}
}
