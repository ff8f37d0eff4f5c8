package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// mortal is a client of a process that is killed at a point. All later calls fail without effect.
type mortal struct {
	parley.Client
	at string

	mu   sync.Mutex    // guards the field below
	dead chan struct{} // closed at the kill
}

func newMortal(c parley.Client, at string) *mortal {
	return &mortal{Client: c, at: at, dead: make(chan struct{})}
}

// reach kills the process at the given point.
func (m *mortal) reach(point string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.dead:
		return errKilled
	default:
	}
	if point != m.at {
		return nil
	}
	close(m.dead)
	return errKilled
}

func (m *mortal) SendTrace(ctx context.Context, p *parley.SendTraceParams) (*parley.SendResult, error) {
	var t parley.Trace
	var s struct {
		Phase string `json:"phase"`
		Step  int    `json:"step"`
		Tool  string `json:"tool"`
	}
	_ = json.Unmarshal(p.Payload, &t)
	_ = json.Unmarshal(t.Data, &s)
	point := strings.TrimRight(strings.TrimSpace(fmt.Sprintf("%s %s %d %s", t.Kind, s.Phase, s.Step, s.Tool)), " 0")
	if err := m.reach("before " + point); err != nil {
		return nil, err
	}
	r, err := m.Client.SendTrace(ctx, p)
	if err == nil {
		err = m.reach("after " + point)
	}
	return r, err
}

func (m *mortal) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	if err := m.reach("before final"); err != nil {
		return nil, err
	}
	r, err := m.Client.SendMessage(ctx, p)
	if err == nil {
		err = m.reach("after final")
	}
	return r, err
}

func (m *mortal) ReleaseClaim(ctx context.Context, p *parley.ReleaseClaimParams) error {
	if err := m.reach("release"); err != nil {
		return err // the claim stays until it expires at the hub
	}
	return m.Client.ReleaseClaim(ctx, p)
}

func (m *mortal) RequestApproval(ctx context.Context, p *parley.RequestApprovalParams) (*parley.Approval, error) {
	r, err := m.Client.RequestApproval(ctx, p)
	if err == nil {
		err = m.reach("approval pending")
	}
	if err == nil {
		err = m.reach("approval answered")
	}
	return r, err
}

// Wherever an attempt is killed, the next attempt does not repeat answered model calls and runs no
// tool twice. It runs at the same hub or after a restart of the hub.
func TestKilled(t *testing.T) {
	for _, c := range []struct {
		at string
		// asked counts the model calls of both attempts, and add and pay the runs of the two tools.
		asked     int
		add, pay  int
		interrupt bool // the model reads that the outcome of a tool is unknown
	}{
		{at: "in plan", asked: 5, add: 1, pay: 1},
		{at: "before llm_step plan 1", asked: 5, add: 1, pay: 1},
		{at: "after llm_step plan 1", asked: 4, add: 1, pay: 1},
		{at: "after llm_plan", asked: 4, add: 1, pay: 1},
		{at: "in execute", asked: 5, add: 1, pay: 1},
		{at: "after llm_step execute 1", asked: 4, add: 1, pay: 1},
		{at: "after llm_tool_started execute 0 add", asked: 4, add: 0, pay: 1, interrupt: true},
		{at: "before llm_tool_result execute 0 add", asked: 4, add: 1, pay: 1, interrupt: true},
		{at: "after llm_tool_result execute 0 add", asked: 4, add: 1, pay: 1},
		{at: "approval pending", asked: 4, add: 1, pay: 1},
		{at: "approval answered", asked: 4, add: 1, pay: 1},
		{at: "after llm_tool_started execute 0 pay", asked: 4, add: 1, pay: 0, interrupt: true},
		{at: "after llm_tool_result execute 0 pay", asked: 4, add: 1, pay: 1},
		{at: "before llm_usage", asked: 4, add: 1, pay: 1},
		{at: "before final", asked: 4, add: 1, pay: 1},
		{at: "after final", asked: 4, add: 1, pay: 1},
	} {
		for _, how := range []string{"killed", "restarted"} {
			t.Run(c.at+", "+how, func(t *testing.T) {
				t.Parallel()
				k := killing(t, c.at, how == "restarted")
				if n := len(k.vendor.calls()); n != c.asked {
					t.Errorf("the models were asked %d times, expected %d", n, c.asked)
				}
				if add, pay := len(k.add.ran()), len(k.pay.ran()); add != c.add || pay != c.pay {
					t.Errorf("the tools ran %d and %d times, expected %d and %d", add, pay, c.add, c.pay)
				}
				if got := strings.Contains(k.told, "An earlier attempt"); got != c.interrupt {
					t.Errorf("the model reads %q", k.told)
				}
				if n := len(k.w.traces(k.session, record.KindPlan)); n != 1 {
					t.Errorf("%d plans", n)
				}
			})
		}
	}
}

type killed struct {
	w        *world
	vendor   *vendor
	add, pay *adder
	session  string
	told     string // tool results that the model reads
}

// signed adds a signature that only the vendor can read.
func signed(r *llm.Response) *llm.Response {
	r.Opaque = &llm.Opaque{Provider: "fake", Data: json.RawMessage(`{"signature":"` + r.ToolCalls[0].Name + `"}`)}
	return r
}

// checkSigned refuses a request with a call that lacks its signature, as vendors do.
func checkSigned(req *llm.Request) error {
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			if want := signed(wants(c.Name, "")); m.Opaque == nil || string(m.Opaque.Data) != string(want.Opaque.Data) {
				return &llm.ProviderError{Provider: "fake", Category: llm.CategoryInvalid, Status: 400,
					Message: "the call " + c.Name + " has no signature"}
			}
		}
	}
	return nil
}

// killing runs a session whose first attempt is killed, and whose second attempt ends it.
func killing(t *testing.T, at string, restart bool) *killed {
	t.Helper()
	k := &killed{add: &adder{name: "add"}, pay: &adder{name: "pay"}}
	var alive atomic.Pointer[mortal]
	steps := inTurn(signed(wants("add", `{"n":1}`)), signed(wants("pay", `{"n":2}`)), says("done"))
	w := newWorld(t, func(ctx context.Context, req *llm.Request) (*llm.Response, error) {
		if m := alive.Load(); m != nil && m.reach("in "+string(phase(req))) != nil {
			return nil, errKilled
		}
		if phase(req) == record.PhasePlan {
			return says("1. add 2. pay"), nil
		}
		if err := checkSigned(req); err != nil {
			return nil, err
		}
		return steps(ctx, req)
	})
	k.w, k.vendor = w, w.vendor
	w.options.Functions = []tool.Tool{k.add, k.pay}
	a, err := w.make(blueprint(`"tools":["add","pay"],"hitl_tools":["pay"],"planning_enabled":true`))
	if err != nil {
		t.Fatal(err)
	}
	client := parley.Client(w.hub.Client(t, "bot"))
	if restart { // then the agent runs inside the hub
		client = w.hub.InProcess(t, "bot")
	}
	m := newMortal(client, at)
	alive.Store(m)
	first, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); k.runs(first, a, m) }()
	w.served("bot")
	s, err := w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot", Prompt: "hello", Mode: parley.ModeAsyncPoll})
	if err != nil {
		t.Fatal(err)
	}
	k.session = s.SessionID
	if !strings.HasPrefix(at, "approval") {
		go k.approve(t)
	}
	select {
	case <-m.dead:
	case <-time.After(patience):
		t.Fatalf("the point %q was not reached: %+v", at, w.vendor.calls())
	}
	if restart {
		w.hub.Restart(t)
	}
	_ = client.Close()
	stop()
	t.Cleanup(func() { <-ended })
	if at == "approval answered" {
		k.approve(t)
	}
	alive.Store(nil)
	note := &parley.SendNoteParams{ConversationID: k.session,
		Payload: parley.Note{Schema: "s", Data: json.RawMessage(`"what comes later is for the next turn"`)}}
	if _, err := w.person.SendNote(t.Context(), note); err != nil && at != "after final" {
		t.Error(err)
	}
	second := make(chan struct{})
	ctx, end := context.WithCancel(t.Context())
	go func() { defer close(second); k.runs(ctx, a, w.hub.InProcess(t, "bot")) }()
	t.Cleanup(func() { end(); <-second; _ = a.Close() })
	if at == "approval pending" || restart {
		go k.approve(t)
	}
	s, err = w.person.GetSession(t.Context(),
		&parley.GetSessionParams{SessionID: k.session, TimeoutMs: patience.Milliseconds()})
	if err != nil {
		t.Fatal(err)
	}
	w.completed(s, "done")
	calls := w.vendor.calls()
	last := calls[len(calls)-1]
	for _, msg := range last.Messages {
		for _, r := range msg.Results {
			k.told += r.Text + "\n"
		}
	}
	return k
}

func (k *killed) runs(ctx context.Context, a *agent.Agent, c parley.Client) {
	_ = executors.Run(ctx, c, a,
		&executors.Options{Agents: []string{"bot"}, Drain: -1, GraceMs: 1000, MinBackoff: time.Millisecond})
}

// approve approves the pending approval of the session once.
func (k *killed) approve(t *testing.T) {
	admin := k.w.hub.InProcess(t, "boss", parley.ScopeAdmin)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) &&
		t.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
		list, err := admin.ListApprovals(t.Context(), &parley.ListApprovalsParams{ConversationID: k.session})
		if err != nil {
			return // the hub was restarted: another call approves
		}
		if len(list.Approvals) == 0 {
			continue
		}
		if _, err := admin.ResolveApproval(t.Context(),
			&parley.ResolveApprovalParams{ApprovalID: list.Approvals[0].ApprovalID,
				Decision: parley.DecisionApproved}); err == nil {
			return
		}
	}
}
