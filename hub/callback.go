package hub

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// callBack tells a conversation of the sessions of one starter that have ended.
func (h *Hub) callBack(parent *fold.State) error {
	by := parent.CallsBackTo()
	var told []parley.Callback
	size, traceparent := 0, ""
	for _, c := range parent.Callbacks {
		if c.By != by {
			continue
		}
		result, trace, err := h.resultOf(c.ID)
		if err != nil && h.conv.Serving() != nil {
			return err
		}
		if err != nil { // the parent shall not wait for what is damaged
			h.log.Error("the result of a session cannot be read", "session", c.ID, "error", err)
			result = &parley.SessionResult{ResultType: parley.AgentTypeAgent, Error: "the result cannot be read", Omitted: true}
		}
		callback := parley.Callback{CallbackType: parley.CallbackChildCompleted, ChildSessionID: c.ID, AgentName: c.Agent, Status: c.Status, Result: fitted(result)}
		encoded, err := json.Marshal(callback)
		if err != nil {
			return err
		}
		if size += len(encoded); size > parley.MaxCallbackBytes && len(told) > 0 {
			break // the others come at the next boundary
		}
		told, traceparent = append(told, callback), cmp.Or(traceparent, trace)
	}
	return h.conv.Command(parent.ID, fold.Command{Verb: fold.Callback, Callbacks: told, Traceparent: traceparent})
}

// callbackLevel is how deep result_data stands in a notification of an event with callbacks.
const callbackLevel = 8

// fitted gives a result as a callback holds it: whole, or without what is large or would nest too deep.
func fitted(r *parley.SessionResult) *parley.SessionResult {
	b, err := json.Marshal(r)
	if err == nil && len(b) <= parley.MaxCallbackResultBytes && checkJSON(r.ResultData, callbackLevel) == nil {
		return r
	}
	less := *r
	less.ResultText, less.ResultData, less.ValidationErrors, less.Omitted = nil, nil, nil, true
	if len(less.Error) > parley.MaxReasonBytes {
		less.Error = policy.Cut(less.Error, parley.MaxReasonBytes)
	}
	return &less
}

// resultOf reads what a session that has ended has brought, and the traceparent of the message with which it has ended, or of what that has answered.
func (h *Hub) resultOf(id string) (r *parley.SessionResult, traceparent string, err error) {
	c, err := h.conv.Pin(id)
	if err != nil {
		return nil, "", err
	}
	defer h.conv.Unpin(c)
	s := c.Durable()
	if !s.Closed() || s.Session == nil {
		return nil, "", fmt.Errorf("session %s has no result", id)
	}
	r, err = readResult(c, &s, resultSeq(&s))
	return r, cmp.Or(s.Traceparent, answeredBy(&s)), err
}

// answeredBy is the traceparent of what the last turn of a session has answered.
func answeredBy(s *fold.State) string {
	if s.Worked == nil {
		return ""
	}
	return s.Worked.Traceparent
}

// resultSeq is the seq of the message that holds the result of a session that has ended: the last one, or what its agent has said last where its caller has
// closed it with words of its own.
func resultSeq(s *fold.State) int64 {
	if s.MessageSeq == s.Seq && s.MessageBy == s.Session.Caller && s.OtherSeq > 0 {
		return s.OtherSeq
	}
	return s.Seq
}

// readResult reads the result in the message at a seq.
func readResult(c *conv.Conversation, s *fold.State, seq int64) (*parley.SessionResult, error) {
	page, err := c.Page(seq-1, seq, 1, func(int64, fold.Meta) bool { return true })
	if err != nil {
		return nil, err
	}
	if len(page.Events) == 0 {
		return nil, fmt.Errorf("event %d of %s cannot be read", seq, c.ID())
	}
	var e parley.Event
	if err := e.UnmarshalJSON(page.Events[0]); err != nil {
		return nil, err
	}
	return resultIn(s.Session, &e)
}

// resultIn gives the result that a message holds, or one made of its text and data.
func resultIn(r *parley.SessionRecord, e *parley.Event) (*parley.SessionResult, error) {
	m, err := e.Message()
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
