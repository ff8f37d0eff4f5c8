package session

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

// sessionError is a session that has not completed. It is no failure of this program: the session
// ended so.
type sessionError struct {
	session *parley.Session
}

func (e *sessionError) Error() string {
	s := e.session
	return fmt.Sprintf("%s of %s: %s", s.SessionID, s.AgentName, view.SessionEndText(s))
}

// Report is how it is reported.
func (e *sessionError) Report() exit.Failure {
	f := exit.Failure{What: e.Error(), Hint: "'parley tail " + e.session.SessionID + "' shows all of it"}
	switch e.session.Status {
	case parley.SessionStopped:
		f.Reason, f.Exit = "session_stopped", exit.CodeSessionStopped
	case parley.SessionInputRequired:
		f.Reason, f.Exit = "input_required", exit.CodeInputRequired
		f.Hint = fmt.Sprintf("answer with 'parley start %s --resume %s --prompt TEXT'", e.session.AgentName,
			e.session.SessionID)
	default:
		f.Reason, f.Exit = "session_failed", exit.CodeSessionFailed
	}
	return f
}

// printOutcome prints the result of a session, and returns an error unless it is completed.
func printOutcome(ctx context.Context, a *cli.App, client parley.Client, s *parley.Session) error {
	if a.Format == cli.FormatJSON {
		if err := a.Out.JSON(s); err != nil {
			return err
		}
	} else if err := printResult(ctx, a, client, s); err != nil {
		return err
	}
	if s.Status == parley.SessionCompleted {
		return nil
	}
	if r := s.Result; r != nil && a.Format != cli.FormatJSON {
		printError(a, r)
		printFaults(a, r.ValidationErrors)
	}
	return &sessionError{s}
}

// printError prints an error of several lines, of which the report has the last only.
func printError(a *cli.App, r *parley.SessionResult) {
	if text := strings.TrimSpace(r.Error); strings.Contains(text, "\n") {
		a.Err.Line(cli.CleanLines(text, "", 0))
	}
}

// printResult prints the JSON of a result, else its text; all of it, where it had to be kept as a
// file.
func printResult(ctx context.Context, a *cli.App, client parley.Client, s *parley.Session) error {
	r := s.Result
	switch {
	case r == nil:
		return nil
	case r.Attachment != nil && len(r.ResultData) == 0:
		return printFile(ctx, a, client, s.SessionID, r.Attachment.SHA256)
	case len(r.ResultData) > 0:
		return a.PrintText(cli.IndentJSON(r.ResultData))
	case r.ResultText != nil:
		return a.PrintText(*r.ResultText)
	}
	return nil
}

// printFile prints a file of a session's conversation.
func printFile(ctx context.Context, a *cli.App, client parley.Client, id, hash string) error {
	file := parley.ReadAttachment(ctx, client, id, hash)
	if !a.Out.Terminal {
		_, err := io.Copy(a.Out, file)
		return err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	return a.PrintText(string(text))
}
