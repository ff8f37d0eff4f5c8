// Package approval has the command approvals, which lists, shows, watches and answers the requests
// of agents for approval.
//
//	root.AddCommand(approval.NewCommand(app))
package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

// NewCommand returns the command approvals.
func NewCommand(a *cli.App) *cobra.Command {
	c := newListCommand(a)
	c.Use, c.Short = "approvals", "list, show and decide the approvals that agents request"
	c.Long = `An agent can request approval for an action, and waits for the decision. approvals lists
the requests that you may decide or that you made; it is 'parley approvals list'. People and peers
of the conversation, or of one above it in the tree of sessions, can decide with a token that has
the scope approve, and so can admins. The requesting agent and its token cannot.

` + resolvedHelp
	c.AddCommand(newListCommand(a), newShowCommand(a), newAnswerCommand(a, parley.DecisionApproved),
		newAnswerCommand(a, parley.DecisionRejected), newWatchCommand(a))
	return c
}

const resolvedHelp = `The list has the pending approvals of all conversations. With --status it has
resolved ones: of all open conversations, or of the one in --conversation, which may be closed. A
conversation keeps only its latest resolved approvals.`

// listFlags narrow which approvals are listed.
type listFlags struct {
	as, conversation, status string
	wide                     bool // more than the pending ones may be listed
}

func (f *listFlags) addTo(c *cobra.Command) {
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.conversation, "conversation", "", "conversation to list approvals of")
	if f.wide {
		c.Flags().StringVar(&f.status, "status", "", strings.Join(cli.Names(parley.ApprovalStatuses...), ", ")+
			" (default: pending)")
	}
}

func (f *listFlags) check() error {
	if f.status != "" && !slices.Contains(parley.ApprovalStatuses, parley.ApprovalStatus(f.status)) {
		return exit.Usagef("--status %s: expected one of %s", cli.Clean(f.status),
			strings.Join(cli.Names(parley.ApprovalStatuses...), ", "))
	}
	return nil
}

func newListCommand(a *cli.App) *cobra.Command {
	f := listFlags{wide: true}
	c := &cobra.Command{
		Use:   "list",
		Short: "list the approvals that you may decide or requested, oldest first",
		Args:  cobra.NoArgs,
	}
	c.Long = c.Short + ".\n\n" + resolvedHelp
	f.addTo(c)
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		client, err := a.Dial(ctx, f.as)
		if err != nil {
			return err
		}
		defer client.Close()
		return printList(ctx, a, client, &f)
	})
}

// list pages through listApprovals.
func list(ctx context.Context, a *cli.App, client parley.Client, f *listFlags) iter.Seq2[parley.Approval, error] {
	return cli.Paginate(func(cursor string) ([]parley.Approval, string, error) {
		p := &parley.ListApprovalsParams{Status: parley.ApprovalStatus(f.status), ConversationID: f.conversation,
			Cursor: cursor}
		page, err := cli.Call(ctx, a, client.ListApprovals, p)
		if err != nil {
			return nil, "", err
		}
		return page.Approvals, page.NextCursor, nil
	})
}

func printList(ctx context.Context, a *cli.App, client parley.Client, f *listFlags) error {
	var to io.Writer = io.Discard
	if a.Format != cli.FormatJSON {
		to = a.Out
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tASKED BY\tEXPIRES\tTITLE")
	for p, err := range list(ctx, a, client, f) {
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			if err := a.Out.JSON(p); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cli.Clean(p.ApprovalID), stateText(&p), cli.Clean(p.AgentID), p.ExpiresAt,
			cli.Clean(p.Title))
	}
	if f.conversation == "" && f.status != "" && f.status != string(parley.ApprovalPending) && a.Format != cli.FormatJSON {
		a.Err.Line("only open conversations were searched: --conversation ID lists those of a closed one")
	}
	return w.Flush()
}

// stateText returns the status of an approval, and whether others have to answer it.
func stateText(p *parley.Approval) string {
	if p.Status == parley.ApprovalPending && !p.MayAnswer {
		return string(p.Status) + ", by others"
	}
	return cli.Clean(string(p.Status))
}

func newShowCommand(a *cli.App) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show an approval and its decision",
		Args:  cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		p, err := cli.Call(ctx, a, client.GetApproval, &parley.GetApprovalParams{ApprovalID: args[0]})
		if err != nil {
			return explainError(err)
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(p)
		}
		return printApproval(a, p)
	})
}

// explainError adds to an error how to list approvals, or which callers may answer them.
func explainError(err error) error {
	switch {
	case errors.Is(err, parley.ErrNotFound):
		return exit.WithHint(err, "'parley approvals' shows those that this token may answer or asked for")
	case errors.Is(err, parley.ErrForbidden):
		return exit.WithHint(err, "a participant of the conversation other than the agent answers it, with a separate "+
			"token: 'parley token create --agent PARTICIPANT --scopes read,approve'")
	}
	return err
}

// printApproval prints an approval for people.
func printApproval(a *cli.App, p *parley.Approval) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"id", cli.Clean(p.ApprovalID)},
		{"title", cli.Clean(p.Title)},
		{"status", stateText(p)},
		{"asked by", fmt.Sprintf("%s in turn %d of %s", cli.Clean(p.AgentID), p.Turn, cli.Clean(p.ConversationID))},
		{"key", cli.Clean(p.Key)},
		{"requested", view.TimeText(p.RequestedAt, 0)},
		{"expires", view.TimeText(p.ExpiresAt, p.RequestedAt)},
		{"resolved", view.TimeText(p.ResolvedAt, p.RequestedAt)},
		{"by", cli.Clean(p.By)},
		{"comment", cli.Clean(p.Comment)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		text json.RawMessage
	}{{"details", p.Details}, {"schema of the answer", p.AnswerSchema}, {"answer", p.Answer}} {
		if len(part.text) == 0 {
			continue
		}
		a.Out.Line("\n" + part.name + ":")
		if err := a.PrintText(cli.IndentJSON(part.text)); err != nil {
			return err
		}
	}
	return nil
}
