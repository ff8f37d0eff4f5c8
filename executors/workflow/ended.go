package workflow

import (
	"encoding/json"

	"github.com/parleyhub/parley"
)

// ended is what has come of a step: what stands under its name in steps.
type ended struct {
	Status    parley.SessionStatus `json:"status"`
	Output    json.RawMessage      `json:"output,omitempty"`
	Text      string               `json:"text,omitempty"`
	Error     string               `json:"error,omitempty"`
	SessionID string               `json:"session_id,omitempty"`

	wrong []parley.ValidationError
}

// endOf tells how a session has ended.
func endOf(step *step, s *parley.Session) *ended {
	e := &ended{Status: s.Status, SessionID: s.SessionID}
	r := s.Result
	if r != nil && r.ResultText != nil {
		e.Text = *r.ResultText
	}
	if s.Status != parley.SessionCompleted {
		e.Error = why(step, s)
		if r != nil {
			e.wrong = r.ValidationErrors
		}
		return e
	}
	switch {
	case r == nil || r.Attachment != nil: // what there is, is a file
	case len(r.ResultData) > 0:
		e.Output = r.ResultData
	case r.ResultText != nil:
		e.Output, _ = encode(e.Text) // a text is JSON
	}
	return e
}

// why says why a session has not completed.
func why(step *step, s *parley.Session) string {
	text := "the agent " + step.agent + " has failed"
	if s.Status == parley.SessionStopped {
		text = "the agent " + step.agent + " was stopped"
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	if s.Result != nil && s.Result.Error != "" {
		text += ": " + s.Result.Error
	}
	return text
}
