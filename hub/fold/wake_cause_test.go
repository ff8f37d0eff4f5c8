package fold_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// TestCarries checks that messages, notes and traces of a triggered turn have its cause and hops, and events beside it
// have none.
func TestCarries(t *testing.T) {
	s := newStory(t).create(triggers, "", nil, agentsAnd("h", "a", "b")...).rouse("h", "a").rouse("a", "a", "b")
	cause := func(seq, wantCause int64, wantHops int) {
		t.Helper()
		e := s.event(seq)
		got := int64(0)
		if e.Cause != nil {
			got = e.Cause.Seq
		}
		if got != wantCause || e.Hops != wantHops {
			t.Errorf("event %d: cause %d after %d hops, want %d after %d", e.Seq, got, e.Hops, wantCause, wantHops)
		}
	}
	cause(2, 0, 0) // h
	cause(4, 2, 1) // a
	s.post("a")    // not in its turn yet, which begins with its first message
	cause(0, 0, 0)
	s.take("a", "x").post("a")
	cause(0, 4, 2)
	cause(-1, 0, 0) // turn_claimed
	s.post("h").trace("a")
	cause(-1, 0, 0)
	cause(0, 4, 2)
	s.say("a", none)
	cause(0, 4, 2)
	if c, hops := s.state.CauseOf("a"); c == nil || *c != (parley.Cause{Seq: 4}) || hops != 2 {
		t.Errorf("a carries %+v, %d", c, hops)
	}
	if c, hops := s.state.CauseOf("b"); c != nil || hops != 0 {
		t.Errorf("b carries %+v, %d, and it is not its turn", c, hops)
	}
	s.rouse("a", "b")
	cause(-1, 4, 2)
	s.say("b", turn) // was woken at 4, with one hop, and now with two
	cause(0, s.state.Seq-2, 3)
	s.say("h", turn)
	cause(0, 0, 0)
}

// TestCarriesBesideASession checks that the events of a participant have the cause and hops of its pending session,
// because that session may add them. They do not after its end, and neither do those of people and other agents.
func TestCarriesBesideASession(t *testing.T) {
	s := newStory(t).create(parley.PolicyOpen, "", nil, agentsAnd("h", "a", "b")...)
	cause := func(wantCause int64, wantHops int) {
		t.Helper()
		e := s.event(0)
		got := int64(0)
		if e.Cause != nil {
			got = e.Cause.Seq
		}
		if got != wantCause || e.Hops != wantHops {
			t.Errorf("event %d: cause %d after %d hops, want %d after %d", e.Seq, got, e.Hops, wantCause, wantHops)
		}
	}
	s.post("h", bySession("a", "ses_1")...)
	first := s.state.Seq - 1
	s.post("a")
	cause(first, 1)
	s.post("b")
	cause(0, 0)
	s.post("h")
	cause(0, 0)
	s.say("a", turn)
	cause(first, 1)
	s.post("a", bySession("b", "ses_2")...)
	s.post("b", bySession("a", "ses_3")...) // they wake each other, and come one hop further each time
	last := s.state.Seq - 1
	s.post("a")
	cause(last, 3)
	s.answers("ses_3").post("a")
	cause(first, 1)
	s.answers("ses_1").post("a")
	cause(0, 0)
}

// TestRetryMeetsItsWords checks that a retry of a message of a triggered turn receives its result after the turn, when
// the message would have no cause.
func TestRetryMeetsItsWords(t *testing.T) {
	s := newStory(t).create(triggers, "", nil, agentsAnd("h", "a")...).rouse("h", "a").take("a", "x")
	note := fold.Command{From: "a", Key: "k", Now: s.now,
		Do: &fold.Note{Note: &parley.Note{Schema: "s", Data: json.RawMessage(`1`)}, Wakes: bySession("a", "ses_1")}}
	d := fold.Decide(s.state, s.keys, note)
	if d.Err != nil || len(d.Events) != 2 || d.Events[0].Event.Hops != 1 {
		t.Fatalf("%+v", d)
	}
	for i := range d.Events {
		s.log = append(s.log, d.Events[i].Data)
		enter(&s.keys, &d.Events[i])
	}
	s.state = d.State
	s.say("a", turn)
	note.Do.(*fold.Note).Wakes = bySession("a", "ses_2")
	again := fold.Decide(s.state, s.keys, note)
	if again.Err != nil || !again.Duplicate || len(again.Events) > 0 || again.Seq != d.Seq {
		t.Errorf("the retry: %+v", again)
	}
}

// TestCallbacksCarryHops checks that a callback, and the turn after it, have the most hops of its sessions.
func TestCallbacksCarryHops(t *testing.T) {
	for _, policy := range []parley.PolicyKind{roundRobin, triggers} {
		s := newStory(t).create(policy, "a", nil, agentsAnd("h", "a", "b")...)
		for i, hops := range []int{1, 4, 2} {
			child := fold.Child{ID: fmt.Sprint("ses_", i), By: "b", Agent: "count", Mode: parley.ModeAsyncCallback, Hops: hops}
			s.do(fold.Command{Do: &fold.StartChild{Child: child}, From: parley.HubID})
			if e := s.event(0); e.Hops != hops || s.state.Children[i].Hops != hops {
				t.Errorf("session_started has %d hops, the child %d", e.Hops, s.state.Children[i].Hops)
			}
		}
		s.ends("ses_0", parley.SessionCompleted).ends("ses_1", parley.SessionFailed).callBack()
		if e := s.event(0); e.From != parley.HubID || e.Hops != 4 {
			t.Fatalf("the callback is %+v", e)
		}
		s.say("b", turn)
		if e := s.event(0); e.Hops != 4 || e.Cause != nil {
			t.Errorf("after the callback: %+v", e)
		}
		s.ends("ses_2", parley.SessionCompleted)
		if policy == triggers {
			s.rouse("h", "b").callBack().say("b", turn) // woken, and called back: the more of both
		} else {
			s.callBack().say("b", turn)
		}
		if e := s.event(0); e.Hops != 2 {
			t.Errorf("%s: after the second callback: %d hops", policy, e.Hops)
		}
	}
}

// TestSessionsCarry checks that the events of the agent of a session have its cause and hops, and those of its caller
// have none.
func TestSessionsCarry(t *testing.T) {
	s := newStory(t)
	r := &parley.SessionRecord{
		Agent: "agent", AgentID: "agent", Type: parley.AgentTypeAgent, Caller: "maker", Mode: parley.ModeAsyncPoll,
		Parent: "cnv_1", Root: "cnv_1", Depth: 1,
		Trigger: &parley.SessionTrigger{Seq: 7}, Cause: &parley.Cause{ConversationID: "cnv_1", Seq: 7}, Hops: 3,
	}
	s.do(fold.Command{
		Do: &fold.Create{Session: r, Digest: "0123", Payload: json.RawMessage(`{"parameters":{}}`),
			Params: &parley.CreateConversationParams{Participants: []parley.Participant{
				{ID: "maker", Kind: parley.KindPeer}, {ID: "agent", Kind: parley.KindAgent}}, StartsWith: "maker"}},
		From: "maker",
	})
	if e := s.event(0); e.Cause != nil || e.Hops != 0 {
		t.Errorf("the caller's words: %+v", e)
	}
	s.claims("x", "agent").trace("agent").post("agent", bySession("agent", "ses_2")...).say("agent", turn)
	for i := range int64(3) {
		if e := s.event(-i); e.Cause == nil || *e.Cause != *r.Cause || e.Hops != 3 {
			t.Errorf("the agent's words: %+v", e)
		}
	}
	if c, hops := s.state.CauseOf("agent"); c == nil || hops != 3 || len(s.state.Matches) > 0 {
		t.Errorf("the agent carries %+v, %d; woken is %+v", c, hops, s.state.Matches)
	}
}

// TestAnswerIsOne checks that the end of a session, its answer and the agents that this wakes are one decision, made
// once. If the answer is too large, nothing is added.
func TestAnswerIsOne(t *testing.T) {
	s := newStory(t).create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).post("h", bySession("a", "ses_1")...)
	s.do(fold.Command{From: parley.HubID,
		Do: &fold.StartChild{Child: fold.Child{ID: "ses_1", By: "h", Agent: "a", Mode: parley.ModeAsyncPoll, Hops: 1}}})
	large := s.ending("ses_1")
	large.Now = s.now
	large.Do.(*fold.EndChild).Note = &parley.Note{Schema: answerSchema,
		Data: json.RawMessage(`"` + strings.Repeat("x", parley.MaxEventBytes) + `"`)}
	if d := fold.Decide(s.state, s.keys, large); !errors.Is(d.Err, parley.ErrTooLarge) || len(d.Events) > 0 ||
		d.State.Seq != s.state.Seq {
		t.Fatalf("an answer that is too large: %v, %d events", d.Err, len(d.Events))
	}
	if d := fold.Decide(s.state, s.keys, s.unstarted("ses_1")); d.Err != nil || len(d.Events) > 0 {
		t.Fatalf("a session that runs was not started: %+v", d)
	}
	before := len(s.log)
	s.answers("ses_1", bySession("b", "ses_2")...)
	if n := len(s.log) - before; n != 3 || len(s.state.Children) > 0 || len(s.state.Matches) != 1 ||
		s.state.Matches[0].By != "a" || s.state.Matches[0].Hops != 1 {
		t.Fatalf("%d events, woken is %+v", n, s.state.Matches)
	}
	if e := s.event(-1); e.From != "a" || e.Cause == nil || e.Cause.Seq != 2 || e.Hops != 1 ||
		!strings.Contains(string(e.Payload), "<y>") {
		t.Errorf("the answer is %s", e.Raw())
	}
	again := s.state.Seq
	if s.answers("ses_1"); s.state.Seq != again {
		t.Error("the session has ended twice")
	}
	// The second was not started: its match ends by name, with an answer too, and once.
	if s.do(s.unstarted("ses_2")); s.state.Seq != again+2 || len(s.state.Matches) > 0 {
		t.Fatalf("at %d, woken is %+v", s.state.Seq, s.state.Matches)
	}
	if sys, err := func() (parley.System, error) { e := s.event(-1); return e.System() }(); err != nil ||
		sys.Detail != "no such agent" ||
		!cmp.Equal(*sys.Trigger, parley.TriggerRecord{Seq: 6, AgentID: "b", SessionID: "ses_2",
			Reason: parley.TriggerNotStarted}) {
		t.Errorf("trigger_ended is %+v, %v", sys, err)
	}
	if s.do(s.unstarted("ses_2")); s.state.Seq != again+2 {
		t.Error("the match has ended twice")
	}
}

// TestMatchesCount: trigger_matched counts for limits.maxEvents and maxBytes, and closes what reaches them.
func TestMatchesCount(t *testing.T) {
	for _, l := range []*parley.Limits{{MaxEvents: 2}, {MaxEvents: 1}, {MaxBytes: 1024}} {
		s := newStory(t).create(triggers, "", l, agentsAnd("h", "a", "b", "c", "d", "e", "f")...)
		if l.MaxBytes > 0 {
			s.say("h", none)
			size := s.state.Bytes
			s.rouse("h", "a", "b", "c", "d", "e", "f").rouse("a", "a", "b", "c", "d", "e", "f")
			if s.state.Bytes < 1024 || size > 300 {
				t.Fatalf("%d bytes, of which the first words are %d", s.state.Bytes, size)
			}
		} else {
			s.rouse("h", "a")
		}
		if !s.state.Closed() || len(s.state.Matches) > 0 {
			t.Errorf("%+v: the conversation is %s, and %d wait", l, s.state.Status, len(s.state.Matches))
		}
		e := s.event(-1)
		if sys, _ := e.System(); sys.Kind != parley.KindTriggerMatched {
			t.Errorf("before the close comes %q", sys.Kind)
		}
	}
}

// TestWakingIsSeen checks that a match changes the inputs of guidance.
func TestWakingIsSeen(t *testing.T) {
	s := newStory(t).create(triggers, "", nil, agentsAnd("h", "a", "b")...)
	s.say("h", turn)
	woken := s.state
	e := parley.Event{Seq: woken.Seq + 1, Type: parley.TypeSystem, From: parley.HubID, At: woken.LastAt,
		Payload: eventdata.Encode(parley.System{
			Kind: parley.KindTriggerMatched, Trigger: &parley.TriggerRecord{Seq: woken.Seq, Wakes: byTurn("b")},
		})}
	after, err := woken.Apply(&e, 100)
	if err != nil {
		t.Fatal(err)
	}
	if woken.GuidanceInputs() == after.GuidanceInputs() || woken.Floor() == after.Floor() {
		t.Errorf("b has the floor by now, and the stand is still %+v", after.GuidanceInputs())
	}
}

// TestImpossibleMatches checks that the fold refuses logs that no hub wrote.
func TestImpossibleMatches(t *testing.T) {
	s := newStory(t).create(triggers, "", nil, agentsAnd("h", "a", "b")...).post("h", bySession("a", "ses_1")...)
	s.do(fold.Command{From: parley.HubID,
		Do: &fold.StartChild{Child: fold.Child{ID: "ses_2", By: "a", Agent: "b", Mode: parley.ModeAsyncPoll}}})
	s.post("h", bySession("b", "ses_3")...).rouse("h")
	said := s.state // after a message that woke no agent
	after := func(f func(s *story)) fold.State {
		o := &story{t: t, state: said, now: s.now}
		f(o)
		return o.state
	}
	matched := func(seq int64, wakes ...parley.Wake) parley.System {
		return parley.System{Kind: parley.KindTriggerMatched, Trigger: &parley.TriggerRecord{Seq: seq, Wakes: wakes}}
	}
	ended := func(seq int64, id, session string) parley.System {
		return parley.System{Kind: parley.KindTriggerEnded, Trigger: &parley.TriggerRecord{
			Seq: seq, AgentID: id, SessionID: session, Reason: parley.TriggerNotStarted}}
	}
	noted := after(func(s *story) { s.post("h") })
	spoken := after(func(s *story) { s.say("h", none) })
	for name, c := range map[string]struct {
		state fold.State
		sys   parley.System
		ok    bool
	}{
		"a match":           {said, matched(said.Seq, byTurn("a")...), true},
		"a session's match": {said, matched(said.Seq, bySession("a", "ses_9")...), true},
		"a stopped one of anybody": {said, matched(said.Seq,
			parley.Wake{AgentID: "nobody", Stopped: parley.StoppedMaxHops}), true},
		"none":                           {said, matched(said.Seq), false},
		"no record":                      {said, parley.System{Kind: parley.KindTriggerMatched}, false},
		"of an event before":             {said, matched(said.Seq-1, byTurn("a")...), false},
		"of an event to come":            {said, matched(said.Seq+1, byTurn("a")...), false},
		"of a message that ends no turn": {spoken, matched(spoken.Seq, bySession("a", "ses_9")...), false},
		"a second time": {after(func(s *story) { s.rouse("h", "a") }),
			matched(said.Seq+1, byTurn("b")...), false},
		"a turn by a note":                {noted, matched(noted.Seq, byTurn("a")...), false},
		"of a person":                     {said, matched(said.Seq, byTurn("h")...), false},
		"of nobody":                       {said, matched(said.Seq, byTurn("nobody")...), false},
		"a turn of a watcher":             {said, matched(said.Seq, parley.Wake{AgentID: "w", Workspace: true}), false},
		"one agent twice":                 {said, matched(said.Seq, byTurn("a", "a")...), false},
		"a session that another waits on": {said, matched(said.Seq, bySession("a", "ses_1")...), false},
		"a session that runs":             {said, matched(said.Seq, bySession("a", "ses_2")...), false},
		"the end of a match":              {said, ended(2, "a", "ses_1"), true},
		"the end of another event's":      {said, ended(3, "a", "ses_1"), false},
		"the end of another agent's":      {said, ended(2, "b", "ses_1"), false},
		"the end of another session's":    {said, ended(2, "a", "ses_4"), false},
		"the end of a turn's":             {after(func(s *story) { s.rouse("h", "a") }), ended(said.Seq+1, "a", ""), false},
		"no record of an end":             {said, parley.System{Kind: parley.KindTriggerEnded}, false},
		"a session that began": {
			after(func(s *story) {
				s.do(fold.Command{From: parley.HubID,
					Do: &fold.StartChild{Child: fold.Child{ID: "ses_1", By: "h", Agent: "a", Mode: parley.ModeAsyncPoll}}})
			}), ended(2, "a", "ses_1"), false,
		},
		"the end of a session that was to begin": {said, parley.System{
			Kind: parley.KindSessionEnded, SessionID: "ses_1", Status: parley.SessionFailed}, true},
		"the end of no session": {said, parley.System{
			Kind: parley.KindSessionEnded, SessionID: "ses_4", Status: parley.SessionFailed}, false},
	} {
		e := parley.Event{Seq: c.state.Seq + 1, Type: parley.TypeSystem, From: parley.HubID, At: c.state.LastAt,
			Payload: eventdata.Encode(c.sys)}
		if _, err := c.state.Apply(&e, 100); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cause := range []*parley.Cause{{Seq: 0}, {Seq: said.Seq + 1}, {ConversationID: "cnv_2", Seq: -1}} {
		e := parley.Event{Seq: said.Seq + 1, Type: parley.TypeSystem, From: "h", At: said.LastAt, Cause: cause,
			Payload: eventdata.Encode(parley.System{Kind: parley.KindNote})}
		if _, err := said.Apply(&e, 100); err == nil {
			t.Errorf("an event with the cause %+v is taken", cause)
		}
	}
}

// TestWorkspace checks that the workspace of a conversation is in its log, state and labels, and is part of the digest
// of a creation.
func TestWorkspace(t *testing.T) {
	q := &parley.CreateConversationParams{Participants: seats("a"), Workspace: "lab", ClientRequestID: "k"}
	d := fold.Decide(fold.State{ID: "x"}, idempotency.Keys{},
		fold.Command{Do: &fold.Create{Params: q}, From: "maker", Key: "k"})
	sys, err := d.Events[0].Event.System()
	if err != nil || d.State.Workspace != "lab" || sys.Workspace != "lab" {
		t.Fatalf("%+v, %v", sys, err)
	}
	if got := eventdata.Labels(&sys); !slices.Equal(got, []string{"p:maker", "p:a", "w:lab"}) ||
		!slices.Equal(got, eventdata.CreateLabels("maker", q.Participants, "lab")) {
		t.Errorf("labels %v", got)
	}
	if got := eventdata.CreateLabels("maker", q.Participants, ""); !slices.Equal(got, []string{"p:maker", "p:a"}) {
		t.Errorf("labels without a workspace: %v", got)
	}
	other := *q
	other.Workspace = "den"
	if d := fold.Decide(d.State, idempotency.Keys{}, fold.Command{
		Do: &fold.Create{Params: &other}, From: "maker", Key: "k"}); !errors.Is(d.Err, parley.ErrIdempotencyConflict) {
		t.Errorf("another workspace under the same key: %v", d.Err)
	}
}
