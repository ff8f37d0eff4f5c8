package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/parleyhub/parley"
)

// sessionError is a session that has not completed. It is no failure of this program: the session ended so.
type sessionError struct {
	session *parley.Session
}

func (e *sessionError) Error() string {
	s := e.session
	return fmt.Sprintf("%s of %s: %s", s.SessionID, s.AgentName, endText(s))
}

// endText says in a line why a session has ended as it has.
func endText(s *parley.Session) string {
	if s.Status == parley.SessionInputRequired {
		return "the agent waits for your next message"
	}
	text := s.Reason
	if r := s.Result; r != nil && r.Error != "" {
		text = r.Error
	}
	if text = strings.TrimSpace(text); strings.Contains(text, "\n") {
		text = lastLine(text)
	}
	return cmp.Or(text, string(s.Status))
}

// report is how it is reported.
func (e *sessionError) report() failure {
	f := failure{What: e.Error(), Hint: "'parley tail " + e.session.SessionID + "' shows all of it"}
	switch e.session.Status {
	case parley.SessionStopped:
		f.Reason, f.exit = "session_stopped", exitStopped
	case parley.SessionInputRequired:
		f.Reason, f.exit = "input_required", exitInput
		f.Hint = fmt.Sprintf("answer with 'parley start %s --resume %s --prompt TEXT'", e.session.AgentName, e.session.SessionID)
	default:
		f.Reason, f.exit = "session_failed", exitFailed
	}
	return f
}

// tellResult prints what a session has brought, and gives an error unless it has completed.
func (a *app) tellResult(ctx context.Context, client parley.Client, s *parley.Session) error {
	if a.format == formatJSON {
		if err := a.out.json(s); err != nil {
			return err
		}
	} else if err := a.printResult(ctx, client, s); err != nil {
		return err
	}
	if s.Status == parley.SessionCompleted {
		return nil
	}
	if r := s.Result; r != nil && a.format != formatJSON {
		a.tellStderr(r)
		a.tellFaults(r.ValidationErrors)
	}
	return &sessionError{s}
}

// tellStderr prints an error of several lines, of which the report has the last only.
func (a *app) tellStderr(r *parley.SessionResult) {
	if text := strings.TrimSpace(r.Error); strings.Contains(text, "\n") {
		a.err.line(cleanLines(text, "", 0))
	}
}

// printResult prints the JSON of a result, else its text; all of it, where it had to be kept as a file.
func (a *app) printResult(ctx context.Context, client parley.Client, s *parley.Session) error {
	r := s.Result
	switch {
	case r == nil:
		return nil
	case r.Attachment != nil && len(r.ResultData) == 0:
		return a.printFile(ctx, client, s.SessionID, r.Attachment.SHA256)
	case len(r.ResultData) > 0:
		return a.printText(pretty(r.ResultData))
	case r.ResultText != nil:
		return a.printText(*r.ResultText)
	}
	return nil
}

// printFile prints a file of a session's conversation.
func (a *app) printFile(ctx context.Context, client parley.Client, id, hash string) error {
	file := parley.ReadAttachment(ctx, client, id, hash)
	if !a.out.terminal {
		_, err := io.Copy(a.out, file)
		return err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	return a.printText(string(text))
}

// printText prints a text of others: as it is to a program, harmless to a person. It ends with a line break.
func (a *app) printText(text string) error {
	if text == "" {
		return nil
	}
	if a.out.terminal {
		text = cleanLines(strings.TrimSuffix(text, "\n"), "", 0)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(a.out, text)
	return err
}

// pretty gives JSON on several lines; numbers and texts are as they were.
func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
