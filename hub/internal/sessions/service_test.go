package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/hubtest"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/paramschema"
)

// The parts of a hub that shares its journal and has no triggers.
type (
	alwaysNew  struct{}
	noTriggers struct{}
)

func (alwaysNew) CatchUp(context.Context) error                               { return nil }
func (alwaysNew) Scanned(string, int64) []journal.Record                      { return nil }
func (alwaysNew) Yields(string) time.Duration                                 { return 0 }
func (noTriggers) FreedTree(string)                                           {}
func (noTriggers) AddAnswer(_, _ *fold.State, _ *fold.Answer) (string, error) { return "", nil }

// newService returns a Service whose queue does not run.
func newService(t *testing.T) *Service {
	t.Helper()
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	e := hubtest.NewEngine(t, j)
	s := New(Options{Engine: e, Turns: turns.New(turns.Options{Engine: e})})
	s.Connect(noTriggers{})
	parts := hubtest.Parts(s)
	parts.Freshness = alwaysNew{}
	e.Connect(parts)
	e.Start()
	return s
}

// A hub that acts late does not write the start of a session again: neither on a state of the parent that
// is not the head, nor if it loaded the end of the session before the start in the parent.
func TestReport_OnceInParent(t *testing.T) {
	s := newService(t)
	stateOf := func(id string) fold.State {
		t.Helper()
		state, err := s.engine.StateOf(id)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	pin := func(id string) *conv.Conversation {
		t.Helper()
		c, err := s.engine.Pin(id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.engine.Unpin(c) })
		return c
	}
	create := fold.Command{
		Do: &fold.Create{Params: &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "h", Kind: parley.KindHuman}},
		}},
		From: "h",
	}
	if _, _, err := pin("case").Ask(t.Context(), &conv.Request{Cmd: create}); err != nil {
		t.Fatal(err)
	}
	before := stateOf("case")
	x := &start{
		service: s, by: &auth.Principal{AgentID: "h"}, parent: &before, id: "ses_1",
		params: &parley.StartSessionParams{AgentName: "x", Mode: parley.ModeAsyncPoll},
	}
	agent := &Agent{name: "x", kind: parley.AgentTypeFunction, parameters: paramschema.Prompt()}
	if err := x.prepare(agent, json.RawMessage(`{"prompt":"p"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := x.create(t.Context(), pin("ses_1")); err != nil {
		t.Fatal(err)
	}
	running := stateOf("ses_1")
	if err := s.reportTo(&before, &running); err != nil {
		t.Fatal(err)
	}
	if err := s.reportTo(&before, &running); !errors.Is(err, conv.ErrStale) {
		t.Errorf("the start was written on a state that is not the head: %v", err)
	}
	if err := s.end("ses_1", parentClosed); err != nil {
		t.Fatal(err)
	}
	ended := stateOf("ses_1")
	if _, err := s.updateParent(&ended); err != nil {
		t.Fatal(err)
	}
	if got := stateOf("case").Seq; got != before.Seq+2 {
		t.Fatalf("the parent has seq %d, want %d with the start and the end", got, before.Seq+2)
	}
	s.miss("ses_1")
	if _, err := s.updateParent(&ended); err != nil {
		t.Error(err)
	}
	if got := stateOf("case").Seq; got != before.Seq+2 {
		t.Errorf("the parent has seq %d: the start was written again", got)
	}
}

// After a start, a session whose parent has its start may run as soon as both are loaded, in either
// order, before any task ran. A session that its parent does not have may not.
func TestRecoverChildren_RunAtOnce(t *testing.T) {
	s := newService(t)
	track := func(id string) {
		s.track(id, &fold.State{ID: id, Seq: 1,
			Sessions: fold.Sessions{Session: &parley.SessionRecord{Parent: "case", Root: "case"}}})
	}
	track("ses_before")
	track("ses_other")
	parent := &fold.State{ID: "case", Seq: 1, Sessions: fold.Sessions{Children: []fold.Child{
		{ID: "ses_before"}, {ID: "ses_after"}, {ID: "ses_gone"},
	}}}
	s.Committed(conv.Commit{ID: "case", State: parent, Source: conv.FoundAtStart})
	track("ses_after")
	for id, want := range map[string]bool{"ses_before": true, "ses_after": true, "ses_other": false} {
		if got := s.MayRun(id); got != want {
			t.Errorf("MayRun(%q) = %t", id, got)
		}
	}
	s.FinishRecovery()
	if track("ses_gone"); s.MayRun("ses_gone") {
		t.Error("a session that was not loaded during the recovery may run")
	}
}
