package hub

import (
	"cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// AddAnswer puts into the command that ends a child in its parent's log the note with which the child answers the event that has started it, and whom that note wakes; nothing where
// no event has.
func (t *triggers) AddAnswer(parent, child *fold.State, cmd *fold.Command) error {
	i := parent.PendingSession(child.ID)
	if i < 0 || child.Session.Trigger == nil {
		return nil
	}
	result, traceparent, err := t.hub.sessions.ReadResult(child.ID)
	if err != nil {
		return err
	}
	a := parley.Answer{
		Status: child.SessionStatus(), Output: result.ResultData, Error: result.Error, ValidationErrors: result.ValidationErrors, Omitted: result.Omitted,
	}
	if a.Output == nil && result.ResultText != nil {
		a.Text = *result.ResultText
	}
	if a.Status != parley.SessionCompleted {
		a.Error = cmp.Or(a.Error, child.Outcome.Reason, string(a.Status))
	}
	cmd.Traceparent = traceparent
	t.answers(parent, &parent.Woken[i], a, cmd)
	return nil
}

// end ends a match whose session cannot begin, and answers the event with the reason.
func (t *triggers) end(parent *fold.State, w *fold.Woken, why *parley.Error) error {
	cmd := fold.Command{Verb: fold.EndTrigger, Child: fold.Child{ID: w.SessionID}, Detail: policy.Cut(why.Message, parley.MaxReasonBytes), Traceparent: w.Traceparent}
	a := parley.Answer{Status: parley.SessionFailed, Error: why.Message}
	if why.Validation != nil {
		a.ValidationErrors = why.Validation.ValidationErrors
	}
	t.answers(parent, w, a, &cmd)
	return t.hub.conv.Command(parent.ID, cmd)
}

// answers makes the note of an answer, in its bound, and finds whom it wakes.
func (t *triggers) answers(parent *fold.State, w *fold.Woken, a parley.Answer, cmd *fold.Command) {
	a.Agent, a.SessionID, a.TriggerSeq = w.Agent, w.SessionID, w.Seq
	data := fold.Encode(a)
	if len(data) > parley.MaxAnswerBytes || !t.hub.sessions.FitsNotification(a.Output) {
		a.Output, a.Text, a.ValidationErrors, a.Omitted = nil, "", nil, true
		a.Error = policy.Cut(a.Error, parley.MaxReasonBytes)
		data = fold.Encode(a)
	}
	cmd.Answer, cmd.AnswerBy = &parley.Note{Schema: w.AnswerSchema, Data: data}, w.AgentID
	if t.known.Load() > 0 {
		cmd.Wakes = t.wakes(parent, saidNote(w.AgentID, cmd.Answer))
	}
}
