package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/internal/sse"
)

// stranger is who asks for ann's tasks.
type stranger struct {
	name  string
	token parley.CreateTokenParams
	agent string // the agent at which it asks; empty: that of the task
	// sits means that it is a participant of the conversation, or may see all conversations. Then it
	// has its own tasks there.
	sits bool
	// refused is the status of each of its requests, whether the task exists or not. 0 means the
	// status of a missing task.
	refused int
}

var strangers = []stranger{
	{name: "another participant", token: parley.CreateTokenParams{AgentID: "bob"}},
	{name: "one who only reads", token: parley.CreateTokenParams{AgentID: "bob", Scopes: []parley.Scope{parley.ScopeRead}}},
	{name: "the agent itself, at another agent", token: parley.CreateTokenParams{AgentID: tellerName}, agent: "other"},
	{name: "the agent itself", token: parley.CreateTokenParams{AgentID: tellerName}, sits: true},
	{name: "an admin", token: parley.CreateTokenParams{AgentID: "root", Scopes: []parley.Scope{parley.ScopeAdmin}},
		sits: true},
	{name: "its owner, at another agent", token: parley.CreateTokenParams{AgentID: "ann"}, agent: "other"},
	{name: "its owner, for another conversation", token: parley.CreateTokenParams{AgentID: "ann", Conversations: []string{"else"}}},
	{name: "no token of this hub", refused: http.StatusUnauthorized},
}

// TestStrangers asks for every operation on a task of someone else, in every dialect: the answer
// is, byte for byte, that for a task that does not exist; and nothing has happened to the task.
func TestStrangers(t *testing.T) {
	needInHub(t, 20)
	w := &world{t: t, dir: t.TempDir(), addr: hubproc.LowAddress(t)}
	w.args = []string{"--listen", w.addr, "--a2a", "--a2a-agent", tellerName, "--a2a-agent", "other",
		"--a2a-allow-private", "all"}
	w.startHub()
	w.teller = newTeller(t, w.ws())
	admin := dial(t, w.ws(), "root")
	owner := &ask{op: opSend, message: "m-1", text: "tell", context: "the-context", config: "c",
		hook: "http://127.0.0.1:9999/", returnAtOnce: true, token: hubproc.Token, agent: "ann"}
	raw := mustDo(t, dialects[0], w.base(), owner)
	v, err := dialects[0].read(raw)
	if err != nil || v.Task == nil {
		t.Fatalf("%.300s: %v", raw, err)
	}
	there := v.Task.ID
	conversation, seq, _ := strings.Cut(there, ".")
	// the missing id has the same length, so that the test can separate an echo of it from other
	// differences
	absent := strings.Repeat("z", len(conversation)-4)
	absent = "cnv_" + absent + "." + seq
	looks, broken := 0, 0
	for _, s := range strangers {
		token := "plt_nobody_nobody"
		if s.token.AgentID != "" {
			r, err := admin.CreateToken(t.Context(), &s.token)
			if err != nil {
				t.Fatal(err)
			}
			token = r.Token
		}
		base := w.base()
		if s.agent != "" {
			base = strings.TrimSuffix(base, tellerName) + s.agent
		}
		for _, d := range dialects {
			for _, a := range asksOf() {
				if !d.has(a.op) {
					continue
				}
				a.token = token
				looks++
				got, want := stolen(t, d, base, a, there), stolen(t, d, base, a, absent)
				if got != want {
					broken++
					t.Errorf("P20: %s, %s %s: of a task of somebody else\n%s\nand of none\n%s", s.name, d.name, a.op, got, want)
				}
				if !strings.HasPrefix(got, "4") && !strings.Contains(got, `"error"`) {
					broken++
					t.Errorf("P20: %s, %s %s is answered: %s", s.name, d.name, a.op, got)
				}
				if s.refused != 0 && !strings.HasPrefix(got, fmt.Sprint(s.refused)) {
					t.Errorf("%s, %s %s: %s, expected %d", s.name, d.name, a.op, got, s.refused)
				}
			}
			if !d.has(opList) || s.sits || s.refused != 0 {
				continue
			}
			looks++
			for _, context := range []string{"", "the-context", conversation} {
				if list := stolen(t, d, base, &ask{op: opList, context: context, token: token}, there); strings.Contains(list,
					conversation) || strings.Contains(list, `"word `) {
					broken++
					t.Errorf("P20: %s, %s: the list of context %q has a task of somebody else: %.300s", s.name, d.name, context, list)
				}
			}
		}
	}
	broken += unharmed(t, w, there)
	promise.ID(20).Kept(t, promise.Tried{Faults: looks, Operations: looks, Violations: broken})
}

// asksOf are all operations on a task, of which the task is named later.
func asksOf() []*ask {
	return []*ask{
		{op: opSend, message: "m-9", text: "mine?", returnAtOnce: true}, {op: opStream, message: "m-9", text: "mine?"},
		{op: opGet}, {op: opCancel}, {op: opSubscribe},
		{op: opSubscribe, cursor: "2"}, {op: opPushCreate, config: "c", hook: "http://127.0.0.1:9999/"},
		{op: opPushGet, config: "c"}, {op: opPushList}, {op: opPushDelete, config: "c"},
	}
}

// stolen is what is answered, with the id that was asked for as TASK.
func stolen(t *testing.T, d *dialect, base string, a *ask, task string) string {
	t.Helper()
	b := *a
	b.task = task
	if a.op == opList {
		b.task = ""
	}
	q, err := d.request(t.Context(), base, &b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := whole(q)
	if err != nil {
		t.Fatalf("%s %s: %v", d.name, a.op, err)
	}
	if r.media == sse.MediaType {
		return "a stream: " + string(r.body)
	}
	return fmt.Sprintf("%d %s %s", r.status, r.media, bytes.ReplaceAll(r.body, []byte(task), []byte("TASK")))
}

func mustDo(t *testing.T, d *dialect, base string, a *ask) json.RawMessage {
	t.Helper()
	r, err := d.do(t.Context(), base, a)
	if err != nil {
		t.Fatal(err)
	}
	raw, f := d.result(r.status, r.body)
	if f != nil {
		t.Fatalf("%s %s: %v", d.name, a.op, f)
	}
	return raw
}

// unharmed: the task continues, has its configuration, and no one else said anything.
func unharmed(t *testing.T, w *world, task string) (broken int) {
	t.Helper()
	d := dialects[0]
	v := new(struct {
		Status status `json:"status"`
	})
	if err := json.Unmarshal(mustDo(t, d, w.base(), &ask{op: opGet, task: task, token: hubproc.Token, agent: "ann"}),
		v); err != nil {
		t.Fatal(err)
	}
	if v.Status.terminal() {
		broken++
		t.Errorf("P20: the task is %s", v.Status.State)
	}
	var hooks struct {
		Configs []any `json:"configs"`
	}
	if err := json.Unmarshal(mustDo(t, d, w.base(), &ask{op: opPushList, task: task, token: hubproc.Token, agent: "ann"}),
		&hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks.Configs) != 1 {
		broken++
		t.Errorf("P20: the task has %d push configurations, and had 1", len(hooks.Configs))
	}
	for _, e := range (&judge{t: t, world: w}).events(task) {
		if e.From != "ann" && e.From != tellerName && e.From != parley.HubID {
			broken++
			t.Errorf("P20: %s has written event %d", e.From, e.Seq)
		}
	}
	return broken
}
