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
	SessionID      string `json:"session_id"`
	AgentName      string `json:"agent_name"`
	Status         string `json:"status" jsonschema:"pending, running or input_required; completed, failed and stopped are ends"`
	Mode           string `json:"mode"`
	Progress       string `json:"progress,omitempty"`
	ResultText     string `json:"result_text,omitempty"`
	CutChars       int    `json:"cut_chars,omitempty" jsonschema:"characters of result_text that are left out"`
	NextOffset     int    `json:"next_text_offset,omitempty" jsonschema:"the text_offset of get_agent_session at which the rest begins"`
	ResultData     any    `json:"result_data,omitempty" jsonschema:"the result, where it is JSON; left out where it is too long and result_text has it"`
	ResultDataText string `json:"result_data_text,omitempty" jsonschema:"a piece of the JSON text of result_data, where all of it is too long"`
	CutDataChars   int    `json:"cut_data_chars,omitempty" jsonschema:"characters of that JSON text that are left out"`
	NextDataOffset int    `json:"next_data_offset,omitempty" jsonschema:"the data_offset of get_agent_session at which the rest begins"`
	// Attachment has all of a text that is too large for a message.
	Attachment *attachmentView `json:"attachment,omitempty" jsonschema:"the whole of the result, where result_text has its beginning only"`
	ExitCode   *int            `json:"exit_code,omitempty" jsonschema:"of a command"`
	Error      string          `json:"error,omitempty" jsonschema:"why it has failed or was stopped"`
	// ValidationErrors are those of a result that does not match the agent's output_schema.
	ValidationErrors []parley.ValidationError `json:"validation_errors,omitempty" jsonschema:"why the result does not match the agent's output_schema"`
	CutErrors        int                      `json:"cut_validation_errors,omitempty" jsonschema:"how many of them are left out"`
	Callback         string                   `json:"callback,omitempty" jsonschema:"with async_callback: pending, delivered or undeliverable"`
	Duplicate        bool                     `json:"duplicate,omitempty" jsonschema:"it had been started before, by an earlier call with the same key"`
	Rest             []string                 `json:"rest,omitempty" jsonschema:"the calls that give what is left out or attached"`
	Next             string                   `json:"next"`

	wanted bool // the result was: then a failure is the call's too
	at     offsets
}

func (v *sessionView) failed() bool { return v.wanted && v.Status == string(parley.SessionFailed) }

const (
	// maxSessionError bounds why a session has failed, and maxFaultsChars what is wrong with its result.
	maxSessionError, maxFaultsChars = 4000, 4000
	// laterSeconds is how long a call is to wait that looks again at a session, where none was said.
	laterSeconds = 20
)

func viewSession(s *parley.Session) *sessionView { return viewSessionAt(s, offsets{}, 0) }

// viewSessionAt gives a session with its result from the offsets on. waited is the wait_seconds that was asked for.
func viewSessionAt(s *parley.Session, at offsets, waited float64) *sessionView {
	v := &sessionView{SessionID: s.SessionID, AgentName: s.AgentName, Status: string(s.Status), Mode: string(s.Mode), Callback: string(s.Callback), Duplicate: s.Duplicate, at: at}
	if s.Progress != nil {
		v.Progress = s.Progress.Text
	}
	if s.Result != nil {
		v.result(s.Result, s.LatestSeq)
	}
	switch {
	case s.Status.Ended():
		v.Next = "It has ended."
	case s.Status == parley.SessionInputRequired:
		v.Next = fmt.Sprintf("It waits for your answer: post_message {conversation_id: %q, since_seq: %d, text: ...}.", s.SessionID, s.LatestSeq)
	case s.Mode == parley.ModeAsyncCallback:
		v.Next = fmt.Sprintf("Its result will come as a message: wait_for_updates {conversation_id: %q, until: \"message\"} with the since_seq that you have of it.", s.ParentConversationID)
	default:
		v.Next = fmt.Sprintf("It goes on. Next: get_agent_session {session_id: %q, wait_seconds: %v}.", s.SessionID, cmp.Or(waited, laterSeconds))
	}
	return v
}

// result puts what a session has brought into the view, as far as there is room, and the calls that give the rest. latest is the last event of the session.
func (v *sessionView) result(r *parley.SessionResult, latest int64) {
	v.ExitCode, v.Error = r.ExitCode, cut(r.Error, maxSessionError)
	v.ValidationErrors, v.CutErrors = fittingFaults(r.ValidationErrors, maxFaultsChars)
	text, data := "", r.ResultData
	if r.ResultText != nil {
		text = *r.ResultText
	}
	if len(text)+len(data) > MaxChars && v.at.data == 0 && sameJSON(text, data) {
		data = nil
	}
	s := share(text, data, v.at, MaxChars)
	v.ResultText, v.CutChars, v.NextOffset = s.text, s.cut, s.next
	v.ResultData, v.ResultDataText, v.CutDataChars, v.NextDataOffset = s.data, s.dataText, s.cutData, s.nextData
	if v.CutChars > 0 {
		v.Rest = append(v.Rest, v.reads("text_offset", v.NextOffset))
	}
	if v.CutDataChars > 0 {
		v.Rest = append(v.Rest, v.reads("data_offset", v.NextDataOffset))
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

// reads is the call that reads on in the result.
func (v *sessionView) reads(offset string, at int) string {
	return fmt.Sprintf("get_agent_session {session_id: %q, %s: %d}", v.SessionID, offset, at)
}

// sameJSON reports whether a text is the JSON of data, but for its spaces.
func sameJSON(text string, data json.RawMessage) bool {
	var a, b bytes.Buffer
	return json.Compact(&a, []byte(text)) == nil && json.Compact(&b, data) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}

func (v *sessionView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s of %s: %s.", v.SessionID, v.AgentName, v.Status)
	if v.Duplicate {
		b.WriteString(" It was started before, by an earlier call with the same client_request_id.")
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
		fmt.Fprintf(&b, "\n  [%d more of them]", v.CutErrors)
	}
	v.writeResult(&b)
	for _, call := range v.Rest {
		b.WriteString("\nThe rest: " + call)
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
	if raw, ok := v.ResultData.(json.RawMessage); ok && !sameJSON(v.ResultText, raw) {
		fmt.Fprintf(b, "\nResult data: %s", raw)
	}
	if v.ResultDataText != "" {
		fmt.Fprintf(b, "\nA piece of the result data: %s%s", v.at.label(), v.ResultDataText)
	}
	if v.CutDataChars > 0 {
		fmt.Fprintf(b, "\n[%d more characters of data]", v.CutDataChars)
	}
	if v.Attachment != nil {
		fmt.Fprintf(b, "\nThe whole result is the attachment %s %s.", v.Attachment.Name, v.Attachment.SHA256)
	}
}
