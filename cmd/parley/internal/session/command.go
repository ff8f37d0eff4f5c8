// Package session has the commands start and session, which start agents for a result, and wait for
// it.
//
//	root.AddCommand(session.NewCommand(app))
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/conversation"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

// NewCommand returns the command session.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:   "session",
		Short: "list, show, wait for and stop sessions of 'parley start'",
	}, newShowCommand(a), newWaitCommand(a), newStopCommand(a), newListCommand(a))
}

func newShowCommand(a *cli.App) *cobra.Command {
	var as string
	var wait bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show the state and the result of a session",
		Args:  cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	c.Flags().BoolVar(&wait, "wait", false, "wait until it ends or asks for input")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		n := &cli.ConnectionNotices{}
		client, err := a.DialNotifying(ctx, as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		s, err := findSession(ctx, a, client, args[0])
		if err == nil && wait {
			s, err = waitForEnd(ctx, a, client, s, &waitFlags{}, n)
		}
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(s)
		}
		return printSession(ctx, a, client, s)
	})
}

func newWaitCommand(a *cli.App) *cobra.Command {
	var as string
	var f waitFlags
	c := &cobra.Command{
		Use:   "wait ID",
		Short: "wait for a session and print its result, as 'parley start' does",
		Args:  cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	f.addTo(c)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := f.check(c.Flags().Changed); err != nil {
			return err
		}
		n := &cli.ConnectionNotices{}
		client, err := a.DialNotifying(ctx, as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		s, err := findSession(ctx, a, client, args[0])
		if err != nil {
			return err
		}
		return waitForResult(ctx, a, client, s, &f, n)
	})
}

func newStopCommand(a *cli.App) *cobra.Command {
	var as, reason string
	c := &cobra.Command{
		Use:   "stop ID",
		Short: "stop a session (creator, people of its parent conversation, admins)",
		Long: `stop ends a session: its command is killed, and its agent notified. An ended one does not change.
Its parent conversation is notified, as of any other end.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	c.Flags().StringVar(&reason, "reason", "", "short reason for readers of the session")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		s, err := cli.Call(ctx, a, client.StopSession, &parley.StopSessionParams{SessionID: args[0], Reason: reason})
		if err != nil {
			return explainNotFound(err)
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(s)
		}
		a.Out.Linef("%s %s", cli.Clean(s.SessionID), cli.Clean(string(s.Status)))
		return nil
	})
}

func newListCommand(a *cli.App) *cobra.Command {
	return conversation.NewListCommand(a, "list the sessions that the token sees, oldest first",
		func(ctx context.Context, client parley.Client, status parley.Status) error {
			return listSessions(ctx, a, client, status)
		})
}

// listSessions prints the conversations that are sessions, which have ids with a prefix.
func listSessions(ctx context.Context, a *cli.App, client parley.Client, status parley.Status) error {
	var to io.Writer = io.Discard
	if a.Format != cli.FormatJSON {
		to = a.Out
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tUPDATED\tCALLER\tTITLE")
	for s, err := range a.ListConversations(ctx, client, parley.ListConversationsParams{Status: status}) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(s.ConversationID, conversation.SessionPrefix) {
			continue
		}
		if a.Format == cli.FormatJSON {
			if err := a.Out.JSON(s); err != nil {
				return err
			}
		}
		state := sessionState(&s)
		caller := ""
		if len(s.Participants) > 0 {
			caller = s.Participants[0]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cli.Clean(s.ConversationID), cli.Clean(state), s.UpdatedAt, cli.Clean(caller),
			cli.Clean(s.Title))
	}
	return w.Flush()
}

// sessionState returns how a session ended, from its summary. Other sessions are active, and
// session show has their status.
func sessionState(s *parley.ConversationSummary) string {
	if s.Outcome == nil {
		return string(s.Status)
	}
	state := string(s.Outcome.SessionStatus())
	if s.Outcome.Reason != "" && s.Outcome.Reason != state {
		state += ", " + s.Outcome.Reason
	}
	return state
}

// findSession returns the state of a session, without waiting.
func findSession(ctx context.Context, a *cli.App, client parley.Client, id string) (*parley.Session, error) {
	s, err := cli.Call(ctx, a, client.GetSession, &parley.GetSessionParams{SessionID: id})
	return s, explainNotFound(err)
}

// explainNotFound says where sessions are listed.
func explainNotFound(err error) error {
	if errors.Is(err, parley.ErrNotFound) {
		return exit.WithHint(err, "'parley session list' shows what this token sees")
	}
	return err
}

// printSession prints a session for people.
func printSession(ctx context.Context, a *cli.App, client parley.Client, s *parley.Session) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range sessionRows(s) {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r := s.Result; r != nil {
		for _, f := range r.ValidationErrors {
			a.Out.Linef("  %s  %s", cli.Clean(f.Path), cli.Clean(f.Message))
		}
	}
	if s.Result == nil || len(s.Result.ResultData) == 0 && s.Result.ResultText == nil {
		return nil
	}
	a.Out.Line("")
	return printResult(ctx, a, client, s)
}

// sessionRows returns the rows of a session, without its result. Empty ones are skipped.
func sessionRows(s *parley.Session) [][2]string {
	agent := cli.Clean(s.AgentName)
	if s.AgentType != "" {
		agent += " (" + cli.Clean(string(s.AgentType)) + ")"
	}
	rows := [][2]string{
		{"id", cli.Clean(s.SessionID)},
		{"agent", agent},
		{"status", cli.Clean(string(s.Status))},
		{"mode", cli.Clean(string(s.Mode))},
		{"runner", cli.Clean(s.RunnerID)},
		{"parent", cli.Clean(s.ParentConversationID)},
		{"created", s.CreatedAt.String() + " by " + cli.Clean(s.CreatedBy)},
		{"started", view.TimeText(s.StartedAt, s.CreatedAt)},
		{"ended", view.TimeText(s.EndedAt, s.StartedAt)},
	}
	if p := s.Progress; p != nil {
		rows = append(rows, [2]string{"progress", cli.Clean(cli.LastLine(p.Text))})
	}
	if s.Status.Ended() {
		rows = append(rows, [2]string{"reason", cli.Clean(s.Reason)})
	}
	if r := s.Result; r != nil {
		if r.ExitCode != nil {
			rows = append(rows, [2]string{"exit code", fmt.Sprint(*r.ExitCode)})
		}
		rows = append(rows, [2]string{"error", cli.Clean(r.Error)})
		if r.Attachment != nil {
			rows = append(rows, [2]string{"file", view.FileText(r.Attachment.Name, r.Attachment.MediaType, r.Attachment.SHA256)})
		}
	}
	return append(rows, [2]string{"callback", cli.Clean(string(s.Callback))},
		[2]string{"latest seq", fmt.Sprint(s.LatestSeq)})
}
