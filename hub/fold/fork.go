package fold

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Fork is forkConversation: an action that begins a conversation with events of another one.
type Fork struct {
	Record parley.ForkRecord
	Title  string
	// Shared are the events of the other conversation up to Record.Seq. It is empty if the fork existed when the hub
	// received the call.
	Shared []eventdata.Shared
	// Digest identifies the call. It is empty without a key.
	Digest string
}

// decide begins a conversation with events of another one, or answers a repeated call of the same caller.
func (f *Fork) decide(d *decision) {
	switch {
	case d.s.Exists():
		d.answerRepeatedCreate(d.s.ParamsHash == f.Digest, "another forkId, or no forkId")
		return
	case len(f.Shared) == 0: // the fork existed when the hub received the call, but its commit failed
		d.refuse(parley.ErrUnavailable, "the fork has not begun", "")
		return
	}
	for i := range f.Shared {
		if !f.addShared(d, &f.Shared[i]) {
			return
		}
	}
	if reason := d.s.limitReached(); reason != "" {
		d.undo()
		d.refuse(parley.ErrValidationFailed,
			fmt.Sprintf("seq %d has reached the limit %s, which closes the conversation", f.Record.Seq, reason),
			"an earlier seq")
		return
	}
	e := systemEvent(parley.System{
		Kind: parley.KindConversationForked, CreatedBy: d.c.From, ParamsHash: f.Digest, Title: f.Title, Fork: &f.Record,
	})
	e.ClientRequestID, e.Traceparent = d.c.Key, d.c.Traceparent
	if d.add(e) && d.s.Claim != nil {
		d.addClaimEnded(parley.ClaimRestarted, "")
	}
	if d.out.Err != nil {
		d.undo()
	}
}

// addShared adds an event of the other conversation as it is stored there.
func (f *Fork) addShared(d *decision, e *eventdata.Shared) bool {
	id := d.s.ID
	if d.applyEncoded(&e.Event, e.Data) == nil {
		return true
	}
	d.refuse(parley.ErrInternal, "an event of the other conversation does not fit its log", "")
	if eventdata.Kind(&e.Event) == parley.KindConversationForked {
		if sys, err := e.Event.System(); err == nil && sys.Fork != nil && sys.Fork.ConversationID == id {
			d.refuse(parley.ErrValidationFailed,
				fmt.Sprintf("forkId %q names the conversation of which the other is a fork", id), "another forkId")
		}
	}
	d.undo()
	return false
}

// applyForked begins a separate conversation after the events that it shares with another one. It drops everything
// that has an effect outside of the log of the other: sessions, callbacks, matches of sessions, and all approvals,
// because no one has approved anything here.
func applyForked(s *State, e *parley.Event, sys *parley.System) error {
	r := sys.Fork
	switch {
	case r == nil || check.ForkRecord(r) != nil || r.Seq != s.Seq || r.ConversationID == s.ID || sys.CreatedBy == "":
		return errors.New("conversation_forked does not describe the events before it")
	case s.Session != nil:
		return errors.New("a fork of a session")
	}
	s.Fork = r
	s.CreatedBy, s.CreatedAt, s.CreateKey, s.ParamsHash = sys.CreatedBy, e.At, e.ClientRequestID, sys.ParamsHash
	if sys.Title != "" {
		s.Title = sys.Title
	}
	s.ActiveAt, s.FloorSeq = e.At, e.Seq
	s.Children, s.Callbacks, s.ApprovalList = nil, nil, ApprovalList{}
	s.dropMatches(func(m *Match) bool { return !m.ByTurn() })

	// All later turns answer this event, because the earlier ones belong to the spans of the other conversation.
	s.TurnSpans = TurnSpans{FloorAt: e.At, Traceparent: e.Traceparent}
	s.WakeEvent.Traceparent = e.Traceparent
	for i := range s.Matches { // which dropMatches has copied
		s.Matches[i].Traceparent = e.Traceparent
	}
	return nil
}
