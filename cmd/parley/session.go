package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) sessionCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "session",
		Short: "look at, wait for and stop sessions, which 'parley start' begins",
	}, a.sessionShowCommand(), a.sessionWaitCommand(), a.sessionStopCommand(), a.sessionListCommand())
}

func (a *app) sessionShowCommand() *cobra.Command {
	var as string
	var wait bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show how a session stands, and what it has brought",
		Args:  cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	c.Flags().BoolVar(&wait, "wait", false, "wait until it has ended or asks for input")
	return a.does(c, func(ctx context.Context, args []string) error {
		n := &notices{}
		client, err := a.dialTelling(ctx, as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		s, err := a.findSession(ctx, client, args[0])
		if err == nil && wait {
			s, err = a.awaitSession(ctx, client, s, &awaitFlags{}, n)
		}
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.out.json(s)
		}
		return a.showSession(ctx, client, s)
	})
}

func (a *app) sessionWaitCommand() *cobra.Command {
	var as string
	var f awaitFlags
	c := &cobra.Command{
		Use:   "wait ID",
		Short: "wait for the end of a session, and print its result as 'parley start' does",
		Args:  cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	f.add(c)
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := f.check(c.Flags().Changed); err != nil {
			return err
		}
		n := &notices{}
		client, err := a.dialTelling(ctx, as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		s, err := a.findSession(ctx, client, args[0])
		if err != nil {
			return err
		}
		return a.awaitResult(ctx, client, s, &f, n)
	})
}

func (a *app) sessionStopCommand() *cobra.Command {
	var as, reason string
	c := &cobra.Command{
		Use:   "stop ID",
		Short: "end a session (who has started it, people of its parent conversation, admins)",
		Long: `stop ends a session: its command is killed, and its agent told. One that has ended stays as it is. Its parent conversation is told, as of any
other end.`,
		Args: cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	c.Flags().StringVar(&reason, "reason", "", "why, in a few words for whoever reads the session")
	return a.does(c, func(ctx context.Context, args []string) error {
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		s, err := call(ctx, a, client.StopSession, &parley.StopSessionParams{SessionID: args[0], Reason: reason})
		if err != nil {
			return noSession(err)
		}
		if a.format == formatJSON {
			return a.out.json(s)
		}
		a.out.linef("%s %s", clean(s.SessionID), clean(string(s.Status)))
		return nil
	})
}

// sessionPrefix begins the ids of sessions.
const sessionPrefix = "ses_"

func (a *app) sessionListCommand() *cobra.Command {
	return a.summaryCommand("list the sessions that the token sees, oldest first", func(ctx context.Context, client parley.Client, status parley.Status) error {
		return a.listSessions(ctx, client, status)
	})
}

// listSessions prints those conversations that are sessions, which their ids tell.
func (a *app) listSessions(ctx context.Context, client parley.Client, status parley.Status) error {
	var to io.Writer = io.Discard
	if a.format != formatJSON {
		to = a.out
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tUPDATED\tCALLER\tTITLE")
	for s, err := range a.summaries(ctx, client, parley.ListConversationsParams{Status: status}) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(s.ConversationID, sessionPrefix) {
			continue
		}
		if a.format == formatJSON {
			if err := a.out.json(s); err != nil {
				return err
			}
		}
		state := sessionState(&s)
		caller := ""
		if len(s.Participants) > 0 {
			caller = s.Participants[0]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", clean(s.ConversationID), clean(state), s.UpdatedAt, clean(caller), clean(s.Title))
	}
	return w.Flush()
}

// sessionState is how a session has ended, as a summary tells; one that has not is active, and session show tells more.
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

// findSession asks how a session stands, without waiting.
func (a *app) findSession(ctx context.Context, client parley.Client, id string) (*parley.Session, error) {
	s, err := call(ctx, a, client.GetSession, &parley.GetSessionParams{SessionID: id})
	return s, noSession(err)
}

// noSession says where sessions are listed.
func noSession(err error) error {
	if errors.Is(err, parley.ErrNotFound) {
		return withHint(err, "'parley session list' shows what this token sees")
	}
	return err
}

// showSession prints a session for people.
func (a *app) showSession(ctx context.Context, client parley.Client, s *parley.Session) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
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
			a.out.linef("  %s  %s", clean(f.Path), clean(f.Message))
		}
	}
	if s.Result == nil || len(s.Result.ResultData) == 0 && s.Result.ResultText == nil {
		return nil
	}
	a.out.line("")
	return a.printResult(ctx, client, s)
}

// sessionRows are what is to be told of a session, but for its result. Empty ones are left out.
func sessionRows(s *parley.Session) [][2]string {
	agent := clean(s.AgentName)
	if s.AgentType != "" {
		agent += " (" + clean(string(s.AgentType)) + ")"
	}
	rows := [][2]string{
		{"id", clean(s.SessionID)},
		{"agent", agent},
		{"status", clean(string(s.Status))},
		{"mode", clean(string(s.Mode))},
		{"runner", clean(s.RunnerID)},
		{"parent", clean(s.ParentConversationID)},
		{"created", s.CreatedAt.String() + " by " + clean(s.CreatedBy)},
		{"started", timeText(s.StartedAt, s.CreatedAt)},
		{"ended", timeText(s.EndedAt, s.StartedAt)},
	}
	if p := s.Progress; p != nil {
		rows = append(rows, [2]string{"progress", clean(lastLine(p.Text))})
	}
	if s.Status.Ended() {
		rows = append(rows, [2]string{"reason", clean(s.Reason)})
	}
	if r := s.Result; r != nil {
		if r.ExitCode != nil {
			rows = append(rows, [2]string{"exit code", fmt.Sprint(*r.ExitCode)})
		}
		rows = append(rows, [2]string{"error", clean(r.Error)})
		if r.Attachment != nil {
			rows = append(rows, [2]string{"file", fileText(r.Attachment.Name, r.Attachment.MediaType, r.Attachment.SHA256)})
		}
	}
	return append(rows, [2]string{"callback", clean(string(s.Callback))}, [2]string{"latest seq", fmt.Sprint(s.LatestSeq)})
}

// timeText is a time, and how long after another it was.
func timeText(at, before parley.Timestamp) string {
	switch {
	case at == 0:
		return ""
	case before == 0:
		return at.String()
	}
	return fmt.Sprintf("%s, after %s", at, at.Time().Sub(before.Time()).Round(time.Millisecond))
}
