//go:build linux

package blueprint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

const woken = `"subscriptions":[{"schema_name":"ask.v1"}],`

// seatOf also runs the blueprints in seats, with a token for them.
func (w *world) seatOf() {
	w.Helper()
	names := w.set.Seats()
	token, err := w.hub.Admin(w.T).CreateToken(w.Context(),
		&parley.CreateTokenParams{AgentID: "runner", Agents: names, Scopes: parley.DefaultScopes})
	if err != nil {
		w.Fatal(err)
	}
	client := w.hub.Dial(w.T, &sdk.Options{Token: token.Token, AgentID: "runner"})
	ctx, cancel := context.WithCancel(context.Background())
	w.client, w.ended = client, make(chan error, 1)
	registered := make(chan struct{}, 100)
	agent := blueprint.New(w.set, &blueprint.Options{URL: w.hub.URL, Processes: w.pool})
	go func() {
		w.ended <- executors.Run(ctx, client, agent, &executors.Options{
			Agents: names, Blueprints: w.set.Blueprints(), ExecutorID: "run-test", Drain: -1,
			Registered: func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} },
		})
	}()
	w.stop = cancel
	w.Cleanup(cancel)
	select {
	case <-registered:
	case err := <-w.ended:
		w.Fatal("Run has ended: ", err)
	case <-time.After(patience):
		w.Fatal("the hub does not know the blueprints")
	}
}

// answer waits for the answer of a tool after a seq.
func (w *world) answer(conversation string, since int64) parley.Message {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	for e, err := range w.caller.Subscribe(ctx, &parley.SubscribeParams{ConversationID: conversation, SinceSeq: since}) {
		if err != nil {
			w.Fatal(err)
		}
		if e.Event != nil && e.Event.Type == parley.TypeMessage && e.Event.From != "caller" {
			m, err := e.Event.Message()
			if err != nil {
				w.Fatal(err)
			}
			return m
		}
	}
	w.Fatal("nothing was said")
	return parley.Message{}
}

// A command in a seat runs for its trigger message and answers with its output or its failure. It
// calls the hub with a token of its turn. If its runner dies, it is not started again.
func TestSeats(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "say", woken+anyOf, "say")
	file(t, dir, "count", woken+anyOf, "count")
	file(t, dir, "report", woken+anyOf, "report")
	w := &world{T: t, hub: sdktest.NewHub(t), dir: dir, pool: &process.Pool{}}
	t.Cleanup(func() { w.pool.Close() })
	var faults []blueprint.Fault
	if w.set, faults = blueprint.Load(dir); len(faults) > 0 {
		t.Fatal(faults)
	}
	w.caller = w.hub.Client(t, "caller")
	w.seatOf()
	conversation := func(tool string) string {
		s, err := w.caller.CreateConversation(t.Context(), &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "caller", Kind: parley.KindHuman}, {ID: tool, Kind: parley.KindTool}},
			Policy:       &parley.Policy{Kind: parley.PolicyTriggers},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.ConversationID
	}
	ask := func(id, input string) int64 {
		payload := fmt.Sprintf(`{"schema":"ask.v1","data":{"input":%s}}`, input)
		r, err := w.caller.SendMessage(t.Context(),
			&parley.SendMessageParams{ConversationID: id, Payload: json.RawMessage(payload), Finality: parley.FinalityTurn})
		if err != nil {
			t.Fatal(err)
		}
		return r.Seq
	}
	id := conversation("say")
	if m := w.answer(id, ask(id, `{"text":"{\"a\": 1}"}`)); m.Text != `{"a": 1}` || string(m.Data) != `{"a":1}` ||
		m.Schema != parley.ToolResponseSchema {
		t.Errorf("%s", indent(m))
	}
	m := w.answer(id, ask(id, `{"code":3,"err":"no such table"}`))
	var f work.Failure
	if err := json.Unmarshal(m.Data, &f); err != nil || f.Reason != "exit_code" || f.Error != "no such table" ||
		m.Text != f.Error || f.Agent != "say" {
		t.Errorf("%s", indent(m))
	}
	id = conversation("report")
	var s seen
	if err := json.Unmarshal([]byte(w.answer(id, ask(id, `{}`)).Text), &s); err != nil {
		t.Fatal(err)
	}
	variables := strings.Join(s.Env, "\n")
	if !strings.Contains(variables, "PARLEY_CONVERSATION="+id) || strings.Contains(variables, "PARLEY_SESSION=") ||
		!strings.Contains(variables, "PARLEY_TOKEN=") || !strings.Contains(variables, "PARLEY_CONTEXT_FILE=") {
		t.Errorf("%s", variables)
	}

	id = conversation("count")
	path := w.temp("count")
	seq := ask(id, fmt.Sprintf(`{"file":%q}`, path))
	pids := w.lines(path, 1)
	_ = w.client.(interface{ Close() error }).Close() // without a word
	w.stop()
	<-w.ended
	w.gone(patience, pids...)
	w.seatOf()
	if m := w.answer(id, seq); m.Text != interrupted {
		t.Errorf("%s", indent(m))
	}
	if got := w.lines(path, 1); len(got) != 1 {
		t.Errorf("started %d times", len(got))
	}
}
