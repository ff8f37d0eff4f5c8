package workflow

import (
	"encoding/json"

	"github.com/parleyhub/parley"
)

// ended is the result of a step: its value in steps.
type ended struct {
	Status    parley.SessionStatus `json:"status"`
	Output    json.RawMessage      `json:"output,omitempty"`
	Text      string               `json:"text,omitempty"`
	Error     string               `json:"error,omitempty"`
	SessionID string               `json:"session_id,omitempty"`

	wrong []parley.ValidationError
}

// endOf returns the result of a session.
func endOf(step *step, s *parley.Session) *ended {
	e := &ended{Status: s.Status, SessionID: s.SessionID}
	r := s.Result
	if r != nil && r.ResultText != nil {
		e.Text = *r.ResultText
	}
	if s.Status != parley.SessionCompleted {
		e.Error = failureText(step, s)
		if r != nil {
			e.wrong = r.ValidationErrors
		}
		return e
	}
	switch {
	case r == nil || r.Attachment != nil: // the result is a file
	case len(r.ResultData) > 0:
		e.Output = r.ResultData
	case r.ResultText != nil:
		e.Output, _ = encode(e.Text) // a string can be encoded
	}
	return e
}

// failureText returns the reason why a session did not complete.
func failureText(step *step, s *parley.Session) string {
	text := "the agent " + step.agent + " failed"
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
