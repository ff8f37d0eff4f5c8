package a2a

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// subscribe streams a task from a cursor.
func (w *opsWorld) subscribe(c *caller, id a2a.TaskID, from string) *opsStream {
	return w.hear(w.s.subscribe(w.t.Context(), c, &a2a.SubscribeToTaskRequest{ID: id}, from))
}

// opsStates returns the states of a stream: of its task, and of each status.
func opsStates(all []update) (out []a2a.TaskState) {
	for _, u := range all {
		switch e := u.event.(type) {
		case *a2a.Task:
			out = append(out, e.Status.State)
		case *a2a.TaskStatusUpdateEvent:
			out = append(out, e.Status.State)
		}
	}
	return out
}

func TestStreamOfOne(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	s := w.hear(w.s.stream(t.Context(), alice, opsRequest("m1", "hold s")))
	first, ok := s.one().event.(*a2a.Task)
	if !ok || first.Status.State != a2a.TaskStateSubmitted || len(first.History) != 1 {
		t.Fatalf("the stream begins with %s", opsWords(s.all))
	}
	s.until("working")
	close(w.gate("s"))
	all := s.rest()
	states := opsStates(all)
	if states[len(states)-1] != a2a.TaskStateCompleted || !slices.Contains(states, a2a.TaskStateWorking) {
		t.Errorf("states: %v", states)
	}
	for i, u := range all {
		if i > 0 && u.event.Meta()[TraceExtension] != nil {
			t.Errorf("a trace, which nobody has asked for: %v", u)
		}
	}
	again := w.hear(w.s.stream(t.Context(), alice, opsRequest("m1", "hold s"))).rest()
	opsSame(t, "the same message again", again, all)
	opsSame(t, "from its first update on", w.subscribe(alice, first.ID, all[0].id).rest(), all)
}

// Only a caller that asks for traces and may see them receives them.
func TestStreamTraces(t *testing.T) {
	w := newOpsWorld(t)
	task := w.send(w.caller("alice"), opsAtOnce(opsRequest("m1", "hold tr")))
	token := w.h.NewToken(t, "alice", append([]parley.Scope{parley.ScopeTrace}, parley.DefaultScopes...)...)
	sees := &caller{client: w.h.InProcessWith(t, token), agent: w.s.agent("bot"), traces: true}
	blind := w.caller("alice")
	blind.traces = true
	close(w.gate("tr"))
	with, without := w.subscribe(sees, task.ID, "1").rest(), w.subscribe(blind, task.ID, "1").rest()
	traces := 0
	for _, u := range with {
		if isTrace(u) {
			traces++
		}
	}
	if traces == 0 {
		t.Errorf("no trace in%s", opsWords(with))
	}
	opsSame(t, "the others", slices.DeleteFunc(with, isTrace), without)
}

// A subscription after each update of a long task receives exactly the later updates.
func TestSubscribeAtEachCursor(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	task := w.send(alice, opsRequest("m1", "ask"))
	w.send(alice, opsAtOnce(opsAt("m2", "hold ev1", "", task.ID)))
	s := w.subscribe(alice, task.ID, "1")
	s.until("working")
	close(w.gate("ev1"))
	s.rest()
	whole := w.subscribe(alice, task.ID, "1").rest()
	end := w.get(alice, task.ID)
	for i, u := range whole[:len(whole)-1] {
		got := w.subscribe(alice, task.ID, u.id).rest()
		if len(got) == 0 || got[0].id != u.id {
			t.Fatalf("from %s:%s", u.id, opsWords(got))
		}
		if _, ok := got[0].event.(*a2a.Task); !ok {
			t.Errorf("from %s it begins with %T", u.id, got[0].event)
		}
		opsSame(t, "behind "+u.id, got[1:], whole[i+1:])
		at := got[0].event.(*a2a.Task)
		for _, u := range got[1:] {
			at = applyUpdate(at, task.ID, u.event)
		}
		if at.Status.State != end.Status.State || len(at.Artifacts) != len(end.Artifacts) {
			t.Errorf("the task at %s and what follows it come to %s with %d artifacts", u.id, at.Status.State, len(at.Artifacts))
		}
	}
	last := whole[len(whole)-1].id
	opsRefused(t, "at the end", w.subscribe(alice, task.ID, last).err(), a2a.ErrUnsupportedOperation)
	opsRefused(t, "without a cursor", w.subscribe(alice, task.ID, "").err(), a2a.ErrUnsupportedOperation)
	old := w.caller("alice")
	old.legacy = true
	opsSame(t, "in 0.3", w.subscribe(old, task.ID, "").rest(), whole[len(whole)-1:])
	for _, bad := range []string{"x", "-1", "1.", ".1", "01", "1.0", "1.2.3", "9999", "9999.1", last + ".99",
		"9223372036854775808", " 3"} {
		opsRefused(t, bad, w.subscribe(alice, task.ID, bad).err(), a2a.ErrInvalidParams)
	}
	if got := w.subscribe(alice, task.ID, "0").rest(); len(got) != len(whole) {
		t.Errorf("from 0: %d updates of %d", len(got), len(whole))
	}
}

func TestSubscribeToWaitingTask(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	task := w.send(alice, opsRequest("m1", "ask"))
	s := w.subscribe(alice, task.ID, "")
	if first := s.one().event.(*a2a.Task); first.Status.State != a2a.TaskStateInputRequired {
		t.Errorf("it begins with %s", first.Status.State)
	}
	w.send(alice, opsAt("m2", "done", "", task.ID))
	states := opsStates(s.rest())
	if states[len(states)-1] != a2a.TaskStateCompleted {
		t.Errorf("states: %v", states)
	}
}

// Many streams of one task are equal, although one of them disconnects.
func TestStreamsAreEqual(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	sent := w.hear(w.s.stream(t.Context(), alice, opsRequest("m1", "hold eq")))
	task := sent.one().event.(*a2a.Task)
	var streams []*opsStream
	for range 4 {
		s := w.subscribe(w.caller("alice"), task.ID, sent.all[0].id)
		s.one()
		streams = append(streams, s)
	}
	gone := w.subscribe(alice, task.ID, "")
	gone.one()
	gone.stop()
	close(w.gate("eq"))
	want := sent.rest()
	for i, s := range streams {
		opsSame(t, fmt.Sprint("stream ", i), s.rest(), want)
	}
}

// A disconnect of the caller does not end the task.
func TestTaskOutlivesCaller(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	ctx, cancel := context.WithCancel(t.Context())
	next := w.hear(w.s.stream(ctx, alice, opsRequest("m1", "hold go")))
	task := next.one().event.(*a2a.Task)
	cancel()
	for {
		_, err, ok := next.next()
		if !ok || err != nil {
			break
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := w.s.send(ctx, alice, opsRequest("m1", "hold go")); !errors.Is(err, context.Canceled) {
		t.Errorf("send without a caller: %v", err)
	}
	close(w.gate("go"))
	w.subscribe(alice, task.ID, "1").rest()
	opsState(t, w.get(alice, task.ID), a2a.TaskStateCompleted)
}

// The hub is killed during streams. A client over a socket loses and repeats nothing, and a client
// inside the hub resumes after its last update.
func TestStreamOverRestarts(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	s := w.hear(w.s.stream(t.Context(), alice, opsRequest("m1", "ask")))
	task := s.one().event.(*a2a.Task)
	s.rest()
	inside := &caller{client: w.h.InProcess(t, "alice"), agent: alice.agent}
	watch := w.subscribe(alice, task.ID, "1")
	cut := w.subscribe(inside, task.ID, "1")
	for watch.one(); !settled(opsStates(watch.all)[len(opsStates(watch.all))-1]); watch.one() {
	}
	for cut.one(); !settled(opsStates(cut.all)[len(opsStates(cut.all))-1]); cut.one() {
	}
	// a stream that was replayed up to a question ended with it: continue from there
	watch = w.subscribe(alice, task.ID, watch.all[len(watch.all)-1].id)
	watch.one()
	cut = w.subscribe(inside, task.ID, cut.all[len(cut.all)-1].id)
	from := cut.one()
	for range 3 {
		w.h.Restart(t)
	}
	if _, err, _ := cut.next(); err == nil {
		t.Error("the stream of a hub that is gone goes on")
	}
	done := w.send(alice, opsAt("m2", "more", "", task.ID))
	opsState(t, done, a2a.TaskStateCompleted)
	all := watch.rest()
	inside.client = w.h.InProcess(t, "alice")
	opsSame(t, "the one that was cut, from its last", w.subscribe(inside, task.ID, from.id).rest()[1:], all[1:])
	// Another adapter returns the same from the log alone.
	fresh, err := New(&Options{Agents: w.s.opts.Agents, Connect: w.s.opts.Connect})
	if err != nil {
		t.Fatal(err)
	}
	other := &opsWorld{t: t, h: w.h, s: fresh}
	opsSame(t, "another adapter", other.subscribe(alice, task.ID, from.id).rest()[1:], all[1:])
}
