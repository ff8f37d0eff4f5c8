package triggers

import (
	"cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// AddAnswer implements sessions.Triggers: it sets the note with which child answers the event that started
// it, and the agents that the note triggers. It returns the traceparent of the end of child.
func (s *Service) AddAnswer(parent, child *fold.State, answer *fold.Answer) (string, error) {
	i := parent.MatchIndex(child.ID)
	if i < 0 || child.Session.Trigger == nil {
		return "", nil
	}
	result, traceparent, err := s.opts.Sessions.ReadResult(child.ID)
	if err != nil {
		return "", err
	}
	a := parley.Answer{
		Status: child.SessionStatus(), Output: result.ResultData, Error: result.Error,
		ValidationErrors: result.ValidationErrors, Omitted: result.Omitted,
	}
	if a.Output == nil && result.ResultText != nil {
		a.Text = *result.ResultText
	}
	if a.Status != parley.SessionCompleted {
		a.Error = cmp.Or(a.Error, child.Outcome.Reason, string(a.Status))
	}
	s.setAnswer(parent, &parent.Matches[i], a, answer)
	return traceparent, nil
}

// refuse ends a match whose session cannot start, and answers the event with the reason.
func (s *Service) refuse(parent *fold.State, w *fold.Match, why *parley.Error) error {
	end := &fold.EndTrigger{SessionID: w.SessionID, Detail: policy.Cut(why.Message, parley.MaxReasonBytes)}
	a := parley.Answer{Status: parley.SessionFailed, Error: why.Message}
	if why.Validation != nil {
		a.ValidationErrors = why.Validation.ValidationErrors
	}
	s.setAnswer(parent, w, a, &end.Answer)
	return s.engine.Command(parent.ID, fold.Command{Do: end, Traceparent: w.Traceparent})
}

// setAnswer sets the note of an answer, within its bound, and the agents that the note triggers.
func (s *Service) setAnswer(parent *fold.State, w *fold.Match, a parley.Answer, answer *fold.Answer) {
	a.Agent, a.SessionID, a.TriggerSeq = w.Agent, w.SessionID, w.Seq
	data := eventdata.Encode(a)
	if len(data) > limits.MaxAnswerBytes || !s.opts.Sessions.FitsNotification(a.Output) {
		a.Output, a.Text, a.ValidationErrors, a.Omitted = nil, "", nil, true
		a.Error = policy.Cut(a.Error, parley.MaxReasonBytes)
		data = eventdata.Encode(a)
	}
	answer.Note, answer.By = &parley.Note{Schema: w.AnswerSchema, Data: data}, w.AgentID
	answer.Wakes = s.match(parent, eventOfNote(w.AgentID, answer.Note))
}
