package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// sessionView is a session as a model reads it.
type sessionView struct {
	SessionID string `json:"session_id"`
	AgentName string `json:"agent_name"`

	Status string `json:"status" jsonschema:"pending, running, input_required, completed, failed or stopped"`

	Mode           string          `json:"mode"`
	Progress       string          `json:"progress,omitempty"`
	ResultText     string          `json:"result_text,omitempty"`
	CutChars       int             `json:"cut_chars,omitempty" jsonschema:"characters of result_text that are left out"`
	NextOffset     int             `json:"next_text_offset,omitempty"`
	ResultData     any             `json:"result_data,omitempty"`
	ResultDataText string          `json:"result_data_text,omitempty"`
	CutDataChars   int             `json:"cut_data_chars,omitempty"`
	NextDataOffset int             `json:"next_data_offset,omitempty"`
	Attachment     *attachmentView `json:"attachment,omitempty"`
	ExitCode       *int            `json:"exit_code,omitempty" jsonschema:"exit code of a command"`
	Error          string          `json:"error,omitempty" jsonschema:"why the session failed or was stopped"`

	ValidationErrors []parley.ValidationError `json:"validation_errors,omitempty"`

	CutErrors int      `json:"cut_validation_errors,omitempty"`
	Callback  string   `json:"callback,omitempty" jsonschema:"with async_callback: pending, delivered or undeliverable"`
	Duplicate bool     `json:"duplicate,omitempty" jsonschema:"true if an earlier call with the same key started it"`
	Rest      []string `json:"rest,omitempty" jsonschema:"the calls that read the rest and the attachments"`
	Next      string   `json:"next"`

	resultWanted bool // the call was for the result, so it fails if the session failed
	at           offsets
}

func (v *sessionView) failed() bool {
	return v.resultWanted && v.Status == string(parley.SessionFailed)
}

const (
	// maxSessionError limits the error of a session, and maxFaultsChars its validation errors.
	maxSessionError, maxFaultsChars = 4000, 4000
	// laterSeconds is the suggested wait of the next call, if the caller named none.
	laterSeconds = 20
)

func viewSession(s *parley.Session) *sessionView { return viewSessionAt(s, offsets{}, 0) }

// viewSessionAt returns a session with its result from the offsets. waited is the requested
// wait_seconds.
func viewSessionAt(s *parley.Session, at offsets, waited float64) *sessionView {
	v := &sessionView{SessionID: s.SessionID, AgentName: s.AgentName, Status: string(s.Status), Mode: string(s.Mode),
		Callback: string(s.Callback), Duplicate: s.Duplicate, at: at}
	if s.Progress != nil {
		v.Progress = s.Progress.Text
	}
	if s.Result != nil {
		v.setResult(s.Result, s.LatestSeq)
	}
	switch {
	case s.Status.Ended():
		v.Next = "The session ended."
	case s.Status == parley.SessionInputRequired:
		v.Next = fmt.Sprintf("The session waits for your answer: post_message {conversation_id: %q, since_seq: %d, text: "+
			"...}.", s.SessionID, s.LatestSeq)
	case s.Mode == parley.ModeAsyncCallback:
		v.Next = fmt.Sprintf("The result will be posted as a message: wait_for_updates {conversation_id: %q, until: "+
			"\"message\"} with the last since_seq that you have read there.", s.ParentConversationID)
	default:
		v.Next = fmt.Sprintf("The session is not finished. Next: get_agent_session {session_id: %q, wait_seconds: %v}.",
			s.SessionID, cmp.Or(waited, laterSeconds))
	}
	return v
}

// setResult sets the part of the result that fits, and the calls that read the rest. latest is the
// seq of the last event of the session.
func (v *sessionView) setResult(r *parley.SessionResult, latest int64) {
	v.ExitCode, v.Error = r.ExitCode, cut(r.Error, maxSessionError)
	v.ValidationErrors, v.CutErrors = fitErrors(r.ValidationErrors, maxFaultsChars)
	text, data := "", r.ResultData
	if r.ResultText != nil {
		text = *r.ResultText
	}
	if len(text)+len(data) > MaxChars && v.at.data == 0 && equalJSON(text, data) {
		data = nil
	}
	s := fitContent(text, data, v.at, MaxChars)
	v.ResultText, v.CutChars, v.NextOffset = s.text, s.cut, s.next
	v.ResultData, v.ResultDataText, v.CutDataChars, v.NextDataOffset = s.data, s.dataText, s.cutData, s.nextData
	if v.CutChars > 0 {
		v.Rest = append(v.Rest, v.readCall("text_offset", v.NextOffset))
	}
	if v.CutDataChars > 0 {
		v.Rest = append(v.Rest, v.readCall("data_offset", v.NextDataOffset))
	}
	if v.CutErrors > 0 || len(r.Error) > maxSessionError {
		v.Rest = append(v.Rest, fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d}", v.SessionID, latest-1))
	}
	if r.Attachment != nil {
		a := attachmentView(*r.Attachment)
		v.Attachment = &a
		v.Rest = append(v.Rest, attachmentCall(v.SessionID, a.SHA256, 0))
	}
}

// readCall returns the call that reads the rest of the result.
func (v *sessionView) readCall(offset string, at int) string {
	return fmt.Sprintf("get_agent_session {session_id: %q, %s: %d}", v.SessionID, offset, at)
}

// equalJSON reports whether a text is the JSON of data, apart from whitespace.
func equalJSON(text string, data json.RawMessage) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, data) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

func (v *sessionView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s of %s: %s.", v.SessionID, v.AgentName, v.Status)
	if v.Duplicate {
		b.WriteString(" An earlier call with the same client_request_id started it.")
	}
	if v.ExitCode != nil {
		fmt.Fprintf(&b, " Exit code %d.", *v.ExitCode)
	}
	if v.Progress != "" {
		b.WriteString(" Progress: " + v.Progress)
	}
	if v.Callback != "" {
		b.WriteString(" Its callback is " + v.Callback + ".")
	}
	if v.Error != "" {
		b.WriteString("\nError: " + v.Error)
	}
	for _, f := range v.ValidationErrors {
		fmt.Fprintf(&b, "\n  %s: %s (%s)", f.Path, f.Message, f.SchemaPath)
	}
	if v.CutErrors > 0 {
		fmt.Fprintf(&b, "\n  [%d more validation errors]", v.CutErrors)
	}
	v.writeResult(&b)
	for _, call := range v.Rest {
		b.WriteString("\nRest: " + call)
	}
	return b.String() + "\n" + v.Next
}

func (v *sessionView) writeResult(b *strings.Builder) {
	if v.ResultText != "" {
		fmt.Fprintf(b, "\nResult:\n%s%s", v.at.label(), v.ResultText)
	}
	if v.CutChars > 0 {
		fmt.Fprintf(b, "\n[%d more characters]", v.CutChars)
	}
	if raw, ok := v.ResultData.(json.RawMessage); ok && !equalJSON(v.ResultText, raw) {
		fmt.Fprintf(b, "\nResult data: %s", raw)
	}
	if v.ResultDataText != "" {
		fmt.Fprintf(b, "\nPiece of the result data: %s%s", v.at.label(), v.ResultDataText)
	}
	if v.CutDataChars > 0 {
		fmt.Fprintf(b, "\n[%d more characters of data]", v.CutDataChars)
	}
	if v.Attachment != nil {
		fmt.Fprintf(b, "\nThe whole result is the attachment %s %s.", v.Attachment.Name, v.Attachment.SHA256)
	}
}
