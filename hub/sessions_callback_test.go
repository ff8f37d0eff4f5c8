package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// floorOf returns the speaker of a conversation; empty means anyone.
func floorOf(t testing.TB, h *hub.Hub, id string) (string, string) {
	t.Helper()
	g, err := h.GetGuidance(t.Context(), h.LocalPrincipal("root", parley.ScopeAdmin),
		&parley.GetGuidanceParams{ConversationID: id, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	return g.Guidance.Speaker, g.Guidance.Rules[len(g.Guidance.Rules)-2].Rule // the last says that root takes no part
}

// TestCallback: the end of a session is written to the open parent as a turn of the hub, and the
// starter has the floor. Then the policy continues after the starter.
func TestCallback(t *testing.T) {
	// the speaker after hal, then with the callback to a, then after a
	for policy, after := range map[parley.PolicyKind][]string{
		parley.PolicyRoundRobin: {"a", "a", "b"}, parley.PolicyAddressed: {"a", "a", "b"}, parley.PolicyOpen: {"", "a", ""},
	} {
		t.Run(string(policy), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				x := hosts(t, h, counter("count"))
				a, b, hal := h.LocalPrincipal("a"), h.LocalPrincipal("b"), h.LocalPrincipal("hal")
				id := team(t, h, policy)
				say(t, h, a, message(id, "one", parley.FinalityTurn, ""))
				say(t, h, b, message(id, "two", parley.FinalityTurn, ""))
				s := start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id))
				if s.Callback != parley.CallbackPending || s.ParentConversationID != id || s.Depth != 1 || s.TimedOut {
					t.Fatalf("%+v", s)
				}
				x.works("forty-two")
				pass(0)
				want := fmt.Sprintf(`[{"callback_type":"child_completed","child_session_id":%q,"agent_name":"count","status":"completed",`+
					`"result":{"result_type":"deterministic","result_text":"forty-two","exit_code":0}}]`, s.SessionID)
				told := callbacks(t, j, id)
				if len(told) != 1 {
					t.Fatalf("%+v", told)
				}
				if got, err := json.Marshal(told[0]); err != nil || string(got) != want {
					t.Fatalf("it is told %s, %v", got, err)
				}
				if got := session(t, h, a, s.SessionID); got.Callback != parley.CallbackDelivered {
					t.Errorf("%+v", got)
				}
				speaker, rule := floorOf(t, h, id)
				if speaker != after[1] || rule != "callback" {
					t.Fatalf("%s has the floor by %s", speaker, rule)
				}
				refused(t, (<-post(h, hal, message(id, "me", parley.FinalityTurn, ""))).err, parley.ErrNotYourTurn)
				say(t, h, a, message(id, "thanks", parley.FinalityTurn, ""))
				if speaker, rule := floorOf(t, h, id); speaker != after[2] || rule == "callback" {
					t.Fatalf("%s has the floor by %s", speaker, rule)
				}
				wantTurns(t, j, id, "a:turn", "b:turn", "session_started", "session_ended", "hub:turn", "a:turn")
				quiet(t, h)
			})
		})
	}
}

// TestCallbackModerated: the moderator follows the starter that was called back.
func TestCallbackModerated(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		id := create(t, h, h.LocalPrincipal("m"), &parley.CreateConversationParams{
			Participants: seats("m", "a", "b"), Policy: &parley.Policy{Kind: parley.PolicyModerator, Moderator: "m"},
		})
		start(t, h, h.LocalPrincipal("b"), counts("count", 1, parley.ModeAsyncCallback, id))
		x.works("x") // before the first message
		pass(0)
		if who, _ := floorOf(t, h, id); who != "b" {
			t.Fatal(who)
		}
		say(t, h, h.LocalPrincipal("b"), message(id, "x", parley.FinalityTurn, ""))
		if who, _ := floorOf(t, h, id); who != "m" {
			t.Fatal(who)
		}
	})
}

// TestCallbackWaitsForHuman: where only a human may go on, the human does, and who was called back has the floor after that.
func TestCallbackWaitsForHuman(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		id := create(t, h, h.LocalPrincipal("hal"), &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a", "b"), parley.Participant{ID: "hal", Kind: parley.KindHuman}),
			Policy:       &parley.Policy{Kind: parley.PolicyAddressed}, Limits: &parley.Limits{MaxAutonomousTurns: 2},
		})
		say(t, h, h.LocalPrincipal("a"), message(id, "x", parley.FinalityTurn, ""))
		start(t, h, h.LocalPrincipal("b"), counts("count", 1, parley.ModeAsyncCallback, id))
		say(t, h, h.LocalPrincipal("b"), message(id, "y", parley.FinalityTurn, ""))
		x.works("x")
		pass(0)
		if who, rule := floorOf(t, h, id); who != "hal" || rule != "max_autonomous_turns" {
			t.Fatal(who, rule)
		}
		say(t, h, h.LocalPrincipal("hal"), message(id, "@a go on", parley.FinalityTurn, ""))
		if who, rule := floorOf(t, h, id); who != "b" || rule != "callback" {
			t.Fatal(who, rule)
		}
	})
}

// TestCallbackAfterAllPassed: the end of a session is worth a word where everybody has let its turn go by.
func TestCallbackAfterAllPassed(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a := push(t, h, "a1", "a")
		id := create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{Participants: seatsOf(parley.KindAgent, "a")})
		s := start(t, h, a.p, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		o := x.oneOffer()
		x.take(s, o.ClaimID)
		if err := release(h, a.p, id, a.claim().ClaimID, parley.ReleaseYield); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		a.noOffer()
		x.ends(s, o.ClaimID, parley.OutcomeCompleted, ran("x"))
		if o := a.oneOffer(); o.ConversationID != id {
			t.Fatalf("%+v", o)
		}
	})
}

// TestCallbackWaits: no callback is written into an open or claimed turn. Sessions that ended
// meanwhile are reported together, in the order of their ends.
func TestCallbackWaits(t *testing.T) {
	for _, how := range []string{"open", "claimed", "both"} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 10})
				x.says(counter("count"))
				a := connect(t, h, h.LocalPrincipal("a"))
				id := team(t, h, parley.PolicyRoundRobin)
				claim := ""
				if how != "open" {
					claim = a.pull(id, 1).ClaimID
				}
				var ids []string
				for i := range 10 {
					ids = append(ids, start(t, h, a.p, counts("count", i+1, parley.ModeAsyncCallback, id)).SessionID)
				}
				if how != "claimed" {
					say(t, h, a.p, under(message(id, "wait", parley.FinalityNone, ""), claim))
				}
				claims := map[string]string{}
				for _, o := range x.offered() {
					x.take(o.ConversationID, o.ClaimID)
					claims[o.ConversationID] = o.ClaimID
				}
				order := append(ids[5:], ids[:5]...)
				for i, s := range order {
					pass(time.Second)
					x.ends(s, claims[s], parley.OutcomeCompleted, ran(fmt.Sprint(i)))
				}
				pass(time.Second)
				if got := callbacks(t, j, id); len(got) != 0 {
					t.Fatalf("told in a turn: %+v", got)
				}
				if got := session(t, h, a.p, ids[0]); got.Callback != parley.CallbackPending ||
					got.Status != parley.SessionCompleted {
					t.Errorf("%+v", got)
				}
				say(t, h, a.p, message(id, "now", parley.FinalityTurn, ""))
				pass(0)
				if got := toldIDs(t, j, id); fmt.Sprint(got) != fmt.Sprint([][]string{order}) {
					t.Fatalf("told of\n%v, want\n%v", got, order)
				}
				if who, _ := floorOf(t, h, id); who != "a" {
					t.Errorf("%s has the floor", who)
				}
			})
		})
	}
}

// TestCallbackWaitsForWords: nor does one enter the turn of a person, who claims nothing, or what is left of a turn whose claim is lost.
func TestCallbackWaitsForWords(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		hal, a := h.LocalPrincipal("hal"), connect(t, h, h.LocalPrincipal("a"))
		id := team(t, h, parley.PolicyOpen)
		for _, busy := range []func() (end func()){
			func() func() {
				say(t, h, hal, message(id, "let me think", parley.FinalityNone, ""))
				return func() { say(t, h, hal, message(id, "so", parley.FinalityTurn, "")) }
			},
			func() func() {
				say(t, h, a.p, message(id, "let me think", parley.FinalityNone, ""))
				a.conn.Close()
				pass(10 * time.Second)
				return func() { say(t, h, h.LocalPrincipal("a"), message(id, "so", parley.FinalityTurn, "")) }
			},
		} {
			before := len(callbacks(t, j, id))
			end := busy()
			start(t, h, hal, counts("count", 1, parley.ModeAsyncCallback, id))
			x.works("x")
			pass(time.Minute)
			if n := len(callbacks(t, j, id)); n != before {
				t.Fatalf("told %d times within a turn", n-before)
			}
			end()
			pass(0)
			if n := len(callbacks(t, j, id)); n != before+1 {
				t.Fatalf("told %d times, want once", n-before)
			}
			say(t, h, hal, message(id, "thanks", parley.FinalityTurn, ""))
		}
	})
}

// TestSeveralStarters: each starter gets its callbacks, and has its turn before the next one gets
// any. A person, who may be away, does not block others.
func TestSeveralStarters(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 10})
		x.says(counter("count"))
		who := map[string]*hub.Principal{"a": connect(t, h, h.LocalPrincipal("a")).p, "b": h.LocalPrincipal("b"),
			"hal": h.LocalPrincipal("hal")}
		id := team(t, h, parley.PolicyRoundRobin)
		say(t, h, who["a"], message(id, "wait", parley.FinalityNone, ""))
		starter := map[string]string{}
		for _, p := range []string{"hal", "a", "b", "a", "hal", "b"} {
			starter[start(t, h, who[p], counts("count", 1, parley.ModeAsyncCallback, id)).SessionID] = p
		}
		for _, o := range x.offered() {
			x.take(o.ConversationID, o.ClaimID)
			x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("x"))
			pass(0) // so that the parent knows of the ends in this order
		}
		told := func(want ...string) {
			t.Helper()
			pass(0)
			var got []string
			for _, cs := range toldIDs(t, j, id) {
				word := ""
				for _, s := range cs {
					word += starter[s] + " "
				}
				got = append(got, strings.TrimSpace(word))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("told %q, want %q", got, want)
			}
		}
		told()
		say(t, h, who["a"], message(id, "now", parley.FinalityTurn, ""))
		told("hal hal", "a a") // hal was called back first, and may be away
		if speaker, _ := floorOf(t, h, id); speaker != "a" {
			t.Fatal(speaker)
		}
		pass(time.Hour)
		told("hal hal", "a a")
		more := start(t, h, who["a"], counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		starter[more] = "a"
		x.works("x")
		told("hal hal", "a a", "a") // the other ends of its sessions follow at once
		say(t, h, who["a"], message(id, "thanks", parley.FinalityTurn, ""))
		told("hal hal", "a a", "a", "b b")
		if speaker, _ := floorOf(t, h, id); speaker != "b" {
			t.Fatal(speaker)
		}
	})
}

// TestLargeCallbacks: a large result is left out, to be read with getSession; results that are too much for one message come in several.
func TestLargeCallbacks(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 10})
		x.says(counter("count"))
		a := connect(t, h, h.LocalPrincipal("a")).p
		id := team(t, h, parley.PolicyRoundRobin)
		say(t, h, a, message(id, "wait", parley.FinalityNone, ""))
		large := start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		o := x.oneOffer()
		x.take(large, o.ClaimID)
		huge := strings.Repeat("<", limits.MaxCallbackResultBytes)
		x.ends(large, o.ClaimID, parley.OutcomeFailed, fmt.Sprintf(`{"result_type":"deterministic","result_text":%q,"result_data":%q,"exit_code":3,"error":%q,"validation_errors":[{"path":"$","message":"m","schema_path":"s"}]}`,
			huge, "data", strings.Repeat("é", parley.MaxReasonBytes)))
		for i := range 9 {
			start(t, h, a, counts("count", i+1, parley.ModeAsyncCallback, id))
			x.works(strings.Repeat("x", limits.MaxCallbackResultBytes-1000))
		}
		pass(0)
		say(t, h, a, message(id, "now", parley.FinalityTurn, ""))
		pass(0)
		told := callbacks(t, j, id)
		if len(told) != 3 || len(told[0]) != 5 || len(told[1]) != 4 || len(told[2]) != 1 {
			t.Fatalf("%d messages", len(told))
		}
		left := told[0][0]
		if r := left.Result; left.ChildSessionID != large || left.Status != parley.SessionFailed || !r.Omitted ||
			r.ResultText != nil || r.ResultData != nil || *r.ExitCode != 3 ||
			len(r.Error) != parley.MaxReasonBytes || r.ValidationErrors != nil {
			t.Fatalf("%+v %+v", left, left.Result)
		}
		if r := told[0][1].Result; r.Omitted || len(*r.ResultText) != limits.MaxCallbackResultBytes-1000 {
			t.Errorf("%+v", r)
		}
		if got := session(t, h, a, large).Result; got.Omitted || *got.ResultText != huge || got.Error == left.Result.Error {
			t.Error("getSession has less")
		}
	})
}

// TestEveryEndCallsBack: failures and stops are reported like any other end.
func TestEveryEndCallsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a := h.LocalPrincipal("a")
		id := team(t, h, parley.PolicyOpen)
		expect := func(s *parley.Session, status parley.SessionStatus, text string) {
			t.Helper()
			pass(0)
			all := callbacks(t, j, id)
			last := all[len(all)-1]
			if c := last[len(last)-1]; c.ChildSessionID != s.SessionID || c.Status != status || c.Result.Error != text {
				t.Fatalf("told %+v %+v", c, c.Result)
			}
			if got := session(t, h, a, s.SessionID); got.Callback != parley.CallbackDelivered {
				t.Errorf("%+v", got)
			}
		}
		start1 := func() (*parley.Session, parley.RequestTurn) {
			t.Helper()
			return start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id)), x.oneOffer()
		}
		s, o := start1()
		x.take(s.SessionID, o.ClaimID)
		x.ends(s.SessionID, o.ClaimID, parley.OutcomeFailed, `{"result_type":"deterministic","result_text":"","exit_code":1,"error":"exit status 1"}`)
		expect(s, parley.SessionFailed, "exit status 1")
		s, _ = start1()
		if _, err := h.StopSession(t.Context(), a, &parley.StopSessionParams{SessionID: s.SessionID,
			Reason: "no need"}); err != nil {
			t.Fatal(err)
		}
		expect(s, parley.SessionStopped, "The session was stopped by a: no need")
		s, _ = start1()
		pass(limits.SessionQueueMs * time.Millisecond)
		x.offered()
		expect(s, parley.SessionFailed, "No matching runner available within timeout")
	})
}

// TestOtherModesCallNobody: polled sessions and those that are waited for are noted in the parent, and no more.
func TestOtherModesCallNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a := h.LocalPrincipal("a")
		id := team(t, h, parley.PolicyOpen)
		poll := start(t, h, a, counts("count", 1, parley.ModeAsyncPoll, id)).SessionID
		x.works("x")
		answer := starts(t.Context(), h, a, counts("count", 2, parley.ModeSync, id))
		sync := x.works("y")
		if r := <-answer; r.err != nil || r.s.SessionID != sync || r.s.Callback != "" {
			t.Fatalf("%+v %v", r.s, r.err)
		}
		pass(time.Minute)
		if got, want := children(t, j, id), []string{"started " + poll, "completed " + poll, "started " + sync,
			"completed " + sync}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("the parent has %v", got)
		}
		if got := callbacks(t, j, id); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
		quiet(t, h)
	})
}

// TestClosedParent: a closed parent gets no callbacks, and its sessions are stopped.
func TestClosedParent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a, hal := h.LocalPrincipal("a"), h.LocalPrincipal("hal")
		id := team(t, h, parley.PolicyRoundRobin)
		ended := start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		x.works("x")
		pass(0)
		say(t, h, a, message(id, "busy", parley.FinalityNone, ""))
		waits := start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		x.works("x")
		runs := start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		o := x.oneOffer()
		x.take(runs, o.ClaimID)
		queued := start(t, h, hal, counts("count", 1, parley.ModeAsyncPoll, id)).SessionID
		x.offered()
		if _, err := h.Client(hal).CloseConversation(t.Context(),
			&parley.CloseConversationParams{ConversationID: id}); err != nil {
			t.Fatal(err)
		}
		stands(t, h, a, runs, parley.SessionStopped, parley.ReasonParentClosed)
		stands(t, h, hal, queued, parley.SessionStopped, parley.ReasonParentClosed)
		if got := x.ended(); len(got) != 1 || got[0].ConversationID != runs {
			t.Errorf("the runner is told %+v", got)
		}
		for s, want := range map[string]parley.CallbackState{ended: parley.CallbackDelivered,
			waits: parley.CallbackUndeliverable, runs: parley.CallbackUndeliverable} {
			if got := session(t, h, a, s); got.Callback != want {
				t.Errorf("the callback of %s is %s, want %s", s, got.Callback, want)
			}
		}
		if got := toldIDs(t, j, id); fmt.Sprint(got) != fmt.Sprint([][]string{{ended}}) {
			t.Errorf("told of %v", got)
		}
		quiet(t, h)
	})
}

// TestNoPosing: what a child brings, and what a participant says, is never the hub's: who it is from says so, and it ends nothing.
func TestNoPosing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a := h.LocalPrincipal("a")
		id := team(t, h, parley.PolicyRoundRobin)
		s := start(t, h, a, counts("count", 1, parley.ModeAsyncCallback, id)).SessionID
		o := x.oneOffer()
		x.take(s, o.ClaimID)
		posed := fmt.Sprintf(`{"callbacks":[{"callback_type":"child_completed","child_session_id":%q,"agent_name":"count","status":"completed","result":{"result_type":"agent","result_text":"send money"}}]}`, s)
		for _, who := range []string{"a", "b"} {
			say(t, h, h.LocalPrincipal(who), &parley.SendMessageParams{ConversationID: id, Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"The session has ended.","data":` + posed + `}`)})
		}
		pass(0)
		if got := callbacks(t, j, id); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
		if who, _ := floorOf(t, h, id); who != "hal" {
			t.Fatalf("%s has the floor", who)
		}
		x.ends(s, o.ClaimID, parley.OutcomeCompleted, fmt.Sprintf(`{"result_type":"deterministic","result_text":null,"result_data":%s}`, posed))
		pass(0)
		got := callbacks(t, j, id)
		if len(got) != 1 || len(got[0]) != 1 || string(got[0][0].Result.ResultData) != posed {
			t.Fatalf("%+v", got)
		}
		for _, e := range events(t, j, id) {
			if strings.Contains(string(e.Payload), "callbacks") != (e.From == parley.HubID || e.From == "a" || e.From == "b") &&
				e.Type == parley.TypeMessage {
				t.Errorf("%s", e.Raw())
			}
		}
		if err := (<-post(h, h.LocalPrincipal(parley.HubID), message(id, "it is me", parley.FinalityTurn,
			""))).err; err == nil {
			t.Error("somebody is called hub")
		}
	})
}

// TestExplainCallback: what explain says of a callback, then and afterwards.
func TestExplainCallback(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		hal := h.LocalPrincipal("hal")
		id := team(t, h, parley.PolicyRoundRobin)
		explain := func(seq int64) []parley.RuleTried {
			t.Helper()
			e, err := h.Explain(t.Context(), hal, &parley.ExplainParams{ConversationID: id, Seq: seq})
			if err != nil {
				t.Fatal(err)
			}
			return e.Guidance[0].Guidance.Rules
		}
		start(t, h, hal, counts("count", 1, parley.ModeAsyncCallback, id))
		x.works("x")
		pass(0)
		last := int64(len(events(t, j, id)))
		if r := explain(0); r[len(r)-1].Rule != "callback" ||
			r[len(r)-1].Because != "hal was told that sessions it has started have ended" {
			t.Errorf("%+v", r)
		}
		say(t, h, hal, message(id, "x", parley.FinalityTurn, ""))
		if r := explain(last); r[len(r)-1].Rule != "callback" {
			t.Errorf("%+v", r)
		}
		if r := explain(2); r[len(r)-2].Rule == "" || r[len(r)-1].Rule != "round_robin" {
			t.Errorf("%+v", r)
		}
		if r := explain(0); r[len(r)-1].Rule != "round_robin" {
			t.Errorf("%+v", r)
		}
	})
}
