package fold

import (
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Fork is forkConversation: an action that begins a conversation with events of another one.
type Fork struct {
	Record parley.ForkRecord
	Title  string
	// Shared are the events of the other up to Record.Seq. There are none where the fork was there when its caller looked.
	Shared []eventdata.Shared
	// Digest tells one call from another; empty without a key.
	Digest string
}

// decide begins a conversation with events of another one, or answers a repeated call of the same caller.
func (f *Fork) decide(d *decision) {
	switch {
	case d.s.Exists():
		d.answerRepeatedCreate(d.s.ParamsHash == f.Digest, "another forkId, or none")
		return
	case len(f.Shared) == 0: // it was there when its caller looked, but its commit has failed
		d.refuse(parley.ErrUnavailable, "the fork has not begun", "")
		return
	}
	for i := range f.Shared {
		if !d.addShared(&f.Shared[i]) {
			return
		}
	}
	if reason := d.s.limitReached(); reason != "" {
		d.undo()
		d.refuse(parley.ErrValidationFailed,
			fmt.Sprintf("seq %d has reached the limit %s, which closes the conversation", f.Record.Seq, reason), "an earlier seq")
		return
	}
	e := d.systemEvent(parley.System{Kind: parley.KindConversationForked, CreatedBy: d.c.From, ParamsHash: f.Digest, Title: f.Title, Fork: &f.Record})
	e.ClientRequestID, e.Traceparent = d.c.Key, d.c.Traceparent
	if d.add(e) && d.s.Claim != nil {
		d.addClaimEnded(parley.ClaimRestarted, "")
	}
	if d.out.Err != nil {
		d.undo()
	}
}

// share adds an event of the other conversation as it is stored there.
func (d *decision) addShared(e *eventdata.Shared) bool {
	id := d.s.ID
	if d.applyEncoded(&e.Event, slices.Concat(d.c.Before, e.Data, d.c.After)) == nil {
		return true
	}
	d.refuse(parley.ErrInternal, "the hub would not take an event of the other conversation", "")
	if eventdata.Kind(&e.Event) == parley.KindConversationForked {
		if sys, err := e.Event.System(); err == nil && sys.Fork != nil && sys.Fork.ConversationID == id {
			d.refuse(parley.ErrValidationFailed,
				fmt.Sprintf("forkId %q names the conversation of which the other is a fork", id), "another forkId")
		}
	}
	d.undo()
	return false
}

// applyForked begins a conversation of its own after the events that it shares with another. Its creator and its times are new, and what belongs to the other is let
// go: the sessions that run or have not been told of, those that matches wait for, and all approvals, also those that were given: nobody has approved
// anything here.
func (s *State) applyForked(e *parley.Event, sys *parley.System) error {
	r := sys.Fork
	switch {
	case r == nil || check.ForkRecord(r) != nil || r.Seq != s.Seq || r.ConversationID == s.ID || sys.CreatedBy == "":
		return fmt.Errorf("event %d: conversation_forked without what it is a fork of, right before", e.Seq)
	case s.Session != nil:
		return fmt.Errorf("event %d: a fork of a session", e.Seq)
	}
	s.Fork, s.Lender = r, ""
	s.CreatedBy, s.CreatedAt, s.CreateKey, s.ParamsHash = sys.CreatedBy, e.At, e.ClientRequestID, sys.ParamsHash
	if sys.Title != "" {
		s.Title = sys.Title
	}
	s.ActiveAt, s.FloorSeq = e.At, e.Seq
	s.Children, s.Callbacks, s.Approvals = nil, nil, nil
	s.dropMatches(func(w *Match) bool { return !w.ByTurn() })
	s.restartTrace(e)
	return nil
}
