package hub_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// host is the connection of a runner.
type host struct {
	*runner
	id string // as executor

	mu      sync.Mutex // guards the field below
	waiting []parley.ClaimWaitingNotification
}

func (x *host) notify(n parley.ExecutorNotification) {
	if n.ClaimWaiting != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.waiting = append(x.waiting, *n.ClaimWaiting)
		return
	}
	x.runner.notify(n)
}

// waits takes the claim_waiting notifications that have arrived. The caller is in a bubble.
func (x *host) waits() []parley.ClaimWaitingNotification {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	got := x.waiting
	x.waiting = nil
	return got
}

// arrive connects a participant as an executor that is offered turns, with the grace of a runner. It has registered no blueprints.
func arrive(t testing.TB, h *hub.Hub, participant string, q parley.RegisterExecutorParams) *host {
	t.Helper()
	x := &host{id: q.ExecutorID}
	x.runner = &runner{t: t, h: h}
	x.conn = h.Connect(x.notify, func() {})
	x.p = h.LocalPrincipal(participant).On(x.conn)
	q.Mode, q.GraceMs = parley.ModePush, cmp.Or(q.GraceMs, limits.OfflineMs)
	x.mustRegister(q)
	synctest.Wait() // it is served a moment later
	return x
}

// hosts connects a runner, box of the participant ops, with room for four, and registers blueprints.
func hosts(t testing.TB, h *hub.Hub, blueprints ...parley.Blueprint) *host {
	t.Helper()
	x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 4})
	x.says(blueprints...)
	return x
}

func (x *host) bring(blueprints ...parley.Blueprint) (parley.RegisterBlueprintsResult, error) {
	return one(func(done func(parley.RegisterBlueprintsResult, error)) {
		x.h.RegisterBlueprints(x.p, &parley.RegisterBlueprintsParams{Blueprints: blueprints}, done)
	})
}

// says registers blueprints and returns the names of their agents.
func (x *host) says(blueprints ...parley.Blueprint) []string {
	x.t.Helper()
	r, err := x.bring(blueprints...)
	if err != nil {
		x.t.Fatal(err)
	}
	var names []string
	for _, a := range r.Agents {
		names = append(names, a.AgentName)
	}
	return names
}

// ends closes the session of a claim as an executor does: with a result.
func (x *host) ends(conversation, claimID string, status parley.OutcomeStatus, result string) {
	x.t.Helper()
	if r := <-post(x.h, x.p, closing(conversation, claimID, status, result)); r.err != nil {
		x.t.Fatal(r.err)
	}
}

func closing(conversation, claimID string, status parley.OutcomeStatus, result string) *parley.SendMessageParams {
	return &parley.SendMessageParams{
		ConversationID: conversation, ClaimID: claimID, Finality: parley.FinalityConversation, Outcome: &parley.Outcome{Status: status},
		Payload: json.RawMessage(`{"result":` + result + `}`),
	}
}

// ran is the result of a command that wrote a text.
func ran(text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"result_type":"deterministic","result_text":%s,"exit_code":0}`, b)
}

// works claims the only offer that has arrived, and completes its session.
func (x *host) works(text string) string {
	x.t.Helper()
	o := x.oneOffer()
	x.take(o.ConversationID, o.ClaimID)
	x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran(text))
	return o.ConversationID
}

// counter is a blueprint that takes a number, and a depth that is 2 by default.
func counter(name string) parley.Blueprint {
	return parley.Blueprint{Name: name, Description: "counts", ParametersSchema: json.RawMessage(
		`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":1},"depth":{"type":"integer","default":2},"url":{"type":"string","format":"uri"}}}`,
	)}
}

// counts are params of a session of it.
func counts(agent string, n int, mode parley.SessionMode, parent string) *parley.StartSessionParams {
	return &parley.StartSessionParams{AgentName: agent, Parameters: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), Mode: mode, ParentConversationID: parent}
}

// start begins a session and fails the test when that is refused. The caller is in a bubble.
func start(t testing.TB, h *hub.Hub, p *hub.Principal, q *parley.StartSessionParams) *parley.Session {
	t.Helper()
	synctest.Wait() // a new registration is served a moment later
	s, err := h.StartSession(t.Context(), p, q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// session returns a session.
func session(t testing.TB, h *hub.Hub, p *hub.Principal, id string) *parley.Session {
	t.Helper()
	s, err := h.GetSession(t.Context(), p, &parley.GetSessionParams{SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stands fails the test unless a session has this status; reason is that of the outcome, empty if
// it has not ended.
func stands(t testing.TB, h *hub.Hub, p *hub.Principal, id string, status parley.SessionStatus,
	reason string) *parley.Session {
	t.Helper()
	synctest.Wait()
	s := session(t, h, p, id)
	if s.Status != status || s.Reason != reason {
		t.Fatalf("session %s is %s (%s), want %s (%s)", id, s.Status, s.Reason, status, reason)
	}
	return s
}

// failsAs is stands for a session that the hub failed, with the text of the hub.
func failsAs(t testing.TB, h *hub.Hub, p *hub.Principal, id, reason, text string) {
	t.Helper()
	s := stands(t, h, p, id, parley.SessionFailed, reason)
	if s.Result == nil || s.Result.Error != text || s.Result.ResultText != nil || s.Result.ResultType == "" {
		t.Fatalf("the result of %s is %+v, want the error %q", id, s.Result, text)
	}
}

// callbacks returns the callbacks of a conversation, one slice for each message, and checks the
// messages.
func callbacks(t testing.TB, j journal.Journal, id string) [][]parley.Callback {
	t.Helper()
	var out [][]parley.Callback
	for _, e := range events(t, j, id) {
		if e.Type != parley.TypeMessage || e.From != parley.HubID || e.Finality != parley.FinalityTurn {
			continue
		}
		m, err := e.Message()
		if err != nil || m.Text == "" {
			t.Fatalf("%s: %v", e.Raw(), err)
		}
		var told parley.Callbacks
		if err := json.Unmarshal(m.Data, &told); err != nil {
			t.Fatal(err)
		}
		out = append(out, told.Callbacks)
	}
	return out
}

// toldIDs returns, for each message with callbacks, the ids of their sessions.
func toldIDs(t testing.TB, j journal.Journal, id string) [][]string {
	t.Helper()
	var out [][]string
	for _, cs := range callbacks(t, j, id) {
		var ids []string
		for _, c := range cs {
			ids = append(ids, c.ChildSessionID)
		}
		out = append(out, ids)
	}
	return out
}

// children returns the events about sessions in the log of a parent, one word each.
func children(t testing.TB, j journal.Journal, id string) []string {
	t.Helper()
	var out []string
	for _, e := range events(t, j, id) {
		sys, err := e.System()
		if e.Type != parley.TypeSystem {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		switch sys.Kind {
		case parley.KindSessionStarted:
			out = append(out, "started "+sys.SessionID)
		case parley.KindSessionEnded:
			out = append(out, string(sys.Status)+" "+sys.SessionID)
		}
	}
	return out
}

// team is a conversation of the agents a and b and the human hal, in which a begins.
func team(t testing.TB, h *hub.Hub, policy parley.PolicyKind) string {
	t.Helper()
	return create(t, h, h.LocalPrincipal("hal"), &parley.CreateConversationParams{
		Participants: append(seatsOf(parley.KindAgent, "a", "b"), parley.Participant{ID: "hal",
			Kind: parley.KindHuman}), Policy: &parley.Policy{Kind: policy},
	})
}

// quiet fails the test unless no session runs any more, as far as the hub knows.
func quiet(t testing.TB, h *hub.Hub) {
	t.Helper()
	synctest.Wait()
	if live, places := h.SessionsHeld(); live != 0 || places != 0 {
		t.Fatalf("%d sessions are taken to run, with %d places in trees", live, places)
	}
}
