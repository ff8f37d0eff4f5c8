package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
	"github.com/parleyhub/parley/internal/toolnames"
)

// A turn with a plan, a tool and a child is one tree of spans. The session of the child is below
// the tool that started it. No span has content.
func TestSpans(t *testing.T) {
	t.Parallel()
	const asker, secret = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a secret"
	w, r := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch {
		case isChild(req):
			return says(secret), nil
		case phase(req) == record.PhasePlan:
			return says("1. " + secret), nil
		case results(req) == 0:
			return wants("add", `{"n":1}`), nil
		case results(req) == 1:
			return wants(toolnames.SpawnSelf, `{"task":"a secret"}`), nil
		}
		return says(secret), nil
	}), &spantest.Recorder{}
	w.tracer = r
	w.options.Functions = []tool.Tool{&adder{name: "add"}}
	w.runner(blueprint(`"tools":["add"],"allow_self_spawn":true,"planning_enabled":true,"instructions":"a secret"`),
		w.hub.Client(t, "runner"))
	s, err := w.person.StartSession(t.Context(), &parley.StartSessionParams{
		AgentName: "bot", Parameters: json.RawMessage(`{"prompt":"a secret"}`), TimeoutMs: patience.Milliseconds(),
		Traceparent: asker,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.completed(s, secret)
	await(t, func() bool { return !strings.Contains(r.Tree(asker), "(ended 0") })
	want := `invoke_agent bot bot
  chat m bot own
  chat m bot own
  execute_tool add
  chat m bot own
  execute_tool spawn_self
    invoke_agent bot.child bot.child
      chat m bot.child children
  chat m bot own
`
	got := r.Tree(asker, spannames.AttrGenAIAgentName, spannames.AttrAgentConfigHash)
	for name, hash := range w.hashes() {
		got = strings.ReplaceAll(got, hash, name)
	}
	if got != want {
		t.Errorf("the spans are\n%sexpected\n%s", got, want)
	}
	if strings.Contains(fmt.Sprint(r.Spans()), secret) {
		t.Errorf("the spans have content: %+v", r.Spans())
	}
}

// await waits until a condition is true.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true")
		}
	}
}

// hashes returns the config hashes of bot and of its children, as the hub lists them.
func (w *world) hashes() map[string]string {
	w.Helper()
	list, err := w.hub.Admin(w.T).ListAgents(w.Context(), &parley.ListAgentsParams{IncludeConfig: true})
	if err != nil {
		w.Fatal(err)
	}
	all := map[string]string{}
	for _, a := range list.Agents {
		hash, err := parley.AgentConfigHash(a.AgentConfig)
		if err != nil {
			w.Fatal(err)
		}
		all[map[string]string{"bot": "own", "bot.child": "children"}[a.Name]] = hash
	}
	return all
}

// Each recorded answer of a model has the hash of its config, which equals the hash in listAgents.
func TestConfigHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch {
		case isChild(req):
			return says("child"), nil
		case results(req) == 0:
			return wants(toolnames.SpawnSelf, `{"task":"one"}`), nil
		}
		return says("done"), nil
	})
	w.runner(blueprint(` "allow_self_spawn" : true, "temperature": 5e-1`), w.hub.Client(t, "runner"))
	s := w.hello()
	w.completed(s, "done")
	hashes := w.hashes()
	if hashes["own"] == hashes["children"] || len(hashes) != 2 {
		t.Fatalf("the hashes are %v", hashes)
	}
	own, children := w.steps(s.SessionID), 0
	if len(own) != 2 {
		t.Fatalf("there are %d steps", len(own))
	}
	for _, step := range own {
		if step.ConfigHash != hashes["own"] || step.Provider != "fake" || step.Model != "m" {
			t.Errorf("the step is %+v, expected the config %s", step, hashes["own"])
		}
	}
	list, err := w.hub.Admin(t).ListConversations(t.Context(), &parley.ListConversationsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Conversations {
		for _, step := range w.steps(c.ConversationID) {
			if c.ConversationID != s.SessionID {
				children++
				if step.ConfigHash != hashes["children"] {
					t.Errorf("the step of a child is %+v, expected the config %s", step, hashes["children"])
				}
			}
		}
	}
	if children != 1 {
		t.Errorf("%d steps of children", children)
	}
}

// steps returns the recorded steps of a conversation.
func (w *world) steps(conversation string) (all []record.Step) {
	w.Helper()
	for _, tr := range w.traces(conversation, record.KindStep) {
		var s record.Step
		if err := json.Unmarshal(tr.Data, &s); err != nil {
			w.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
