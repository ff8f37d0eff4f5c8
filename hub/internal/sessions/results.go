package sessions

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// describe returns a session as Get does.
func (s *Service) describe(c *conv.Conversation, state *fold.State) (*parley.Session, error) {
	r := state.Session
	out := &parley.Session{
		SessionID: state.ID, AgentName: r.Agent, AgentType: r.Type, Status: state.SessionStatus(), Mode: r.Mode,
		CreatedBy: state.CreatedBy, ParentConversationID: r.Parent, Depth: r.Depth,
		CreatedAt: state.CreatedAt, StartedAt: state.ClaimedAt, LatestSeq: state.Seq,
	}
	if r.Runner != nil {
		out.RunnerID = r.Runner.RunnerID
	}
	var err error
	switch {
	case state.Closed():
		out.EndedAt, out.Reason = state.LastAt, state.Outcome.Reason
		out.Result, err = readResult(c, r, resultSeq(state))
	case out.Status == parley.SessionInputRequired && state.MessageBy == r.AgentID:
		out.Result, err = readResult(c, r, state.MessageSeq)
	case state.Progress != nil:
		progress := *state.Progress
		out.Progress = &progress
	}
	if err == nil && r.Mode == parley.ModeAsyncCallback {
		out.Callback, err = s.callbackState(state)
	}
	return out, err
}

// callbackState returns whether the parent got, or will get, the callback of a session.
func (s *Service) callbackState(state *fold.State) (parley.CallbackState, error) {
	parent, err := s.engine.StateOf(state.Session.Parent)
	if err != nil {
		return "", err
	}
	pending := !state.Closed() || parent.ChildIndex(state.ID) >= 0 || parent.HasCallback(state.ID) || s.isMissed(state.ID)
	switch {
	case parent.Closed() && (pending || state.Outcome.Reason == parley.ReasonParentClosed):
		return parley.CallbackUndeliverable, nil
	case pending:
		return parley.CallbackPending, nil
	}
	return parley.CallbackDelivered, nil
}

// callBack writes a callback to a conversation, for the sessions of one starter that ended.
func (s *Service) callBack(parent *fold.State) error {
	by := parent.CallbackRecipient()
	var callbacks []parley.Callback
	size, traceparent := 0, ""
	for _, c := range parent.Callbacks {
		if c.By != by {
			continue
		}
		result, trace, err := s.ReadResult(c.ID)
		if err != nil {
			return err
		}
		callback := parley.Callback{
			CallbackType: parley.CallbackChildCompleted, ChildSessionID: c.ID, AgentName: c.Agent, Status: c.Status,
			Result: s.fit(result),
		}
		encoded, err := json.Marshal(callback)
		if err != nil {
			return err
		}
		if size += len(encoded); size > limits.MaxCallbackBytes && len(callbacks) > 0 {
			break // the others follow in the next callback
		}
		callbacks, traceparent = append(callbacks, callback), cmp.Or(traceparent, trace)
	}
	return s.engine.Command(parent.ID,
		fold.Command{Do: &fold.Callback{Callbacks: callbacks}, Traceparent: traceparent})
}

// Results reads the results of sessions that ended.
type Results struct {
	engine    *conv.Engine
	checkJSON func(raw json.RawMessage, outer int) error // see Options
}

// resultLevel is the depth of a result in a notification of an event with callbacks.
const resultLevel = 8

// FitsNotification reports whether the data of a result does not nest too deep for a notification.
func (r *Results) FitsNotification(data json.RawMessage) bool {
	return r.checkJSON(data, resultLevel) == nil
}

// fit returns a result as a callback has it: whole, or without what is large or nests too deep.
func (r *Results) fit(result *parley.SessionResult) *parley.SessionResult {
	b, err := json.Marshal(result)
	if err == nil && len(b) <= limits.MaxCallbackResultBytes && r.FitsNotification(result.ResultData) {
		return result
	}
	less := *result
	less.ResultText, less.ResultData, less.ValidationErrors, less.Omitted = nil, nil, nil, true
	if len(less.Error) > parley.MaxReasonBytes {
		less.Error = policy.Cut(less.Error, parley.MaxReasonBytes)
	}
	return &less
}

// ReadResult returns the result of a session that ended, and the traceparent of its last message, or of
// the event that its last turn answers. A parent does not wait for a session whose log is damaged: the
// result then has an error. ReadResult fails only while the hub does not serve.
func (r *Results) ReadResult(id string) (result *parley.SessionResult, traceparent string, err error) {
	result, traceparent, err = r.readEnded(id)
	if err == nil || r.engine.Serving() != nil {
		return result, traceparent, err
	}
	r.engine.Log().Error("the result of a session cannot be read", "session", id, "error", err)
	const unread = "the result cannot be read"
	return &parley.SessionResult{ResultType: parley.AgentTypeAgent, Error: unread, Omitted: true}, traceparent, nil
}

func (r *Results) readEnded(id string) (result *parley.SessionResult, traceparent string, err error) {
	c, err := r.engine.Pin(id)
	if err != nil {
		return nil, "", err
	}
	defer r.engine.Unpin(c)
	state := c.Durable()
	if !state.Closed() || state.Session == nil {
		return nil, "", fmt.Errorf("session %s has no result", id)
	}
	if traceparent = state.Traceparent; traceparent == "" && state.EndedTurn != nil {
		traceparent = state.EndedTurn.Traceparent
	}
	result, err = readResult(c, state.Session, resultSeq(&state))
	return result, traceparent, err
}

// resultSeq is the seq of the message with the result of a session that ended: the last one, or the last
// one of its agent if the caller closed the session with a message.
func resultSeq(state *fold.State) int64 {
	if state.MessageSeq == state.Seq && state.MessageBy == state.Session.Caller && state.OtherSeq > 0 {
		return state.OtherSeq
	}
	return state.Seq
}

// readResult returns the result in the message at a seq, or one that it makes of its text and data.
func readResult(c *conv.Conversation, r *parley.SessionRecord, seq int64) (*parley.SessionResult, error) {
	m, err := readMessage(c, seq)
	if err != nil {
		return nil, err
	}
	if m.Result != nil {
		return m.Result, nil
	}
	out := &parley.SessionResult{ResultType: r.Type, ResultData: m.Data}
	if m.Text != "" {
		out.ResultText = &m.Text
	}
	if len(m.Attachments) > 0 {
		out.Attachment = &m.Attachments[0]
	}
	return out, nil
}

// readMessage returns the message at a seq.
func readMessage(c *conv.Conversation, seq int64) (m parley.Message, err error) {
	page, err := c.Page(seq-1, seq, 1, func(int64, eventdata.Meta) bool { return true })
	if err != nil {
		return m, err
	}
	if len(page.Events) == 0 {
		return m, fmt.Errorf("event %d of %s cannot be read", seq, c.ID())
	}
	var e parley.Event
	if err := e.UnmarshalJSON(page.Events[0]); err != nil {
		return m, err
	}
	return e.Message()
}
