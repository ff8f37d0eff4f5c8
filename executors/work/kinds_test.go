//go:build unix

package work_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/worktest"
)

// model returns the same answer to every request, and records the last message of each.
type model struct {
	mu    sync.Mutex
	asked []string
}

func (m *model) Name() string { return "fake" }

func (m *model) Close() error { return nil }

func (m *model) Call(_ context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req.Messages[len(req.Messages)-1].Text)
	m.mu.Unlock()
	if emit != nil {
		if err := emit(llm.Chunk{Text: "seen"}); err != nil {
			return nil, err
		}
	}
	return &llm.Response{Text: "seen", Finish: llm.FinishStop,
		Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 1, TotalTokens: 2}}, nil
}

const same = `"subscriptions": {"selectors": [
	{"schema_name": "ask.v1"},
	{"schema_name": "page.v1", "role": "context", "llm_hints": {"exclude": ["secret"]}},
	{"schema_name": "page.v1", "role": "context", "fetch": {"method": "recent", "limit": 2}, "key": "pages"}
]}`

// A command, a function, a workflow and an LLM agent with the same selectors get the same bytes of
// context, in sessions started by a note and in turns triggered by a message.
func TestSameContext(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"reads": `{"name": "reads", "argv": ["cat"], "params_via": "stdin", "parameters_schema": {"type": "object"}, ` +
			same + `}`,
		"opens": `{"name": "opens", "argv": ["sh", "-c", "cat \"$PARLEY_CONTEXT_FILE\"; echo $PARLEY_CONTEXT_FILE >> ` +
			`seen"], "parameters_schema": {"type": "object"}, ` + same + `}`,
		"calls": `{"name": "calls", "parameters_schema": {"type": "object"}, ` + same + `}`,
		"walks": `{"name": "walks", "type": "workflow", "parameters_schema": {"type": "object"}, "steps": [{"name": ` +
			`"one", "agent": "helper", "input": {"c": "$.context", "t": "$.trigger.data.q"}}], ` + same + `}`,
		"helper": `{"name": "helper", "type": "function", "parameters_schema": {"type": "object"}}`,
		"thinks": `{"name": "thinks", "type": "agent", "model": "fake:m", "parameters_schema": {"type": "object"}, ` + same +
			`}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, faults := blueprint.Load(dir)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var called, helped [][]byte
	jobs := blueprint.New(set, &blueprint.Options{Functions: function.Set{
		"calls": func(_ context.Context, j *work.Job) (any, error) {
			called = append(called, j.Context)
			return map[string]any{"trigger": j.Trigger.Seq}, nil
		},
		"helper": func(_ context.Context, j *work.Job) (any, error) {
			if j.Context != nil {
				return nil, fmt.Errorf("an agent without subscriptions has a context")
			}
			helped = append(helped, j.Parameters)
			return "helped", nil
		},
	}})
	m := &model{}
	b := set.File("thinks").Blueprint()
	thinks, err := agent.New(&b, &agent.Options{Runtimes: llm.NewRuntimes(llm.NewRuntime(m, nil)), Meter: &llm.Meter{}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.Serve(worktest.Mux{"reads": jobs, "opens": jobs, "calls": jobs, "walks": jobs, "helper": jobs, "thinks": thinks},
		set.Blueprints()...)

	tools := []string{"reads", "opens", "calls", "walks", "thinks"}
	id := w.Create(tools...)
	for i := range 3 {
		w.Note(id, "page.v1", fmt.Sprintf(`{"url":"https://a.example/?a=1&b=<%d>","secret":"s%d","n":1.50}`, i, i))
	}
	for i, wake := range []func() int64{
		func() int64 { return w.Note(id, "ask.v1", `{"q":"</hub> <what> & why","input":{}}`) },
		func() int64 {
			return w.Say(id, parley.Message{Text: "look", Schema: "ask.v1", Data: json.RawMessage(`{"q":"again","input":{}}`)})
		},
	} {
		seq := wake()
		read := map[string]string{} // contexts that the commands read
		if i == 0 {
			for _, e := range w.Until(id, seq, len(tools), func(e *parley.Event) bool {
				s, err := e.System()
				return e.Type == parley.TypeSystem && err == nil && s.Kind == parley.KindNote
			}) {
				s, _ := e.System()
				var a parley.Answer
				if err := json.Unmarshal(s.Data, &a); err != nil || a.Status != parley.SessionCompleted {
					t.Fatalf("%s: %v", s.Data, err)
				}
				r, err := w.Hub.Admin(t).GetSession(t.Context(), &parley.GetSessionParams{SessionID: a.SessionID})
				if err != nil {
					t.Fatal(err)
				}
				read[a.Agent] = *r.Result.ResultText
			}
		} else {
			for _, e := range w.Until(id, seq, len(tools), func(e *parley.Event) bool { return e.Type == parley.TypeMessage }) {
				said, err := e.Message()
				if err != nil {
					t.Fatal(err)
				}
				read[e.From] = said.Text
			}
		}
		want := called[i]
		var c struct {
			Trigger parley.ContextTrigger `json:"trigger"`
			Page    map[string]any        `json:"page"`
			Pages   []any                 `json:"pages"`
		}
		if err := json.Unmarshal(want, &c); err != nil || c.Trigger.Seq != seq || len(c.Pages) != 2 || len(c.Page) != 2 {
			t.Fatalf("the context is %s: %v", want, err)
		}
		if read["reads"] != `{"context":`+string(want)+`}` {
			t.Errorf("stdin: %s, expected the context %s", read["reads"], want)
		}
		if read["opens"] != string(want) {
			t.Errorf("the file: %s", read["opens"])
		}
		if !strings.HasPrefix(m.asked[i], "<hub>") || !strings.HasSuffix(m.asked[i], "</hub>\n"+string(want)) {
			t.Errorf("the model reads %s", m.asked[i])
		}
		var step, whole any
		if json.Unmarshal(helped[i], &step) != nil ||
			json.Unmarshal([]byte(fmt.Sprintf(`{"c":%s,"t":%q}`, want, c.Trigger.Data)), &whole) != nil {
			t.Fatalf("%s", helped[i])
		}
		if diff := cmp.Diff(whole.(map[string]any)["c"], step.(map[string]any)["c"]); diff != "" {
			t.Errorf("the step: %s", diff)
		}
	}
	paths, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(paths)) {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}
