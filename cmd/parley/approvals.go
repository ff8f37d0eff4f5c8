package main

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
)

func (a *app) approvalsCommand() *cobra.Command {
	c := a.approvalsListCommand()
	c.Use, c.Short = "approvals", "list, show and answer what agents ask for before they do it"
	c.Long = `An agent that works on its turn may ask before it does something, and waits for the answer. approvals lists those that you may answer or have asked
for: it is 'parley approvals list'. They are answered by people and peers of the conversation, or of one above it in the tree of sessions, with a token that has the
scope approve, and by admins; never by who asks, nor with its token.

` + approvalsResolved
	c.AddCommand(a.approvalsListCommand(), a.approvalsShowCommand(), a.approvalsAnswerCommand(parley.DecisionApproved), a.approvalsAnswerCommand(parley.DecisionRejected), a.approvalsWatchCommand())
	return c
}

const approvalsResolved = `Those that are pending are listed wherever they are. Of those that are resolved, a conversation keeps the latest; with --status alone they are listed of
conversations that are open, with --conversation of one that has ended too.`

// approvalsFlags narrow which approvals are listed.
type approvalsFlags struct {
	as, conversation, status string
	wide                     bool // more than the pending ones may be listed
}

func (f *approvalsFlags) add(c *cobra.Command) {
	asFlag(c, &f.as)
	c.Flags().StringVar(&f.conversation, "conversation", "", "only those of this conversation")
	if f.wide {
		c.Flags().StringVar(&f.status, "status", "", strings.Join(names(parley.ApprovalStatuses...), ", ")+" (default: pending)")
	}
}

func (f *approvalsFlags) check() error {
	if f.status != "" && !slices.Contains(parley.ApprovalStatuses, parley.ApprovalStatus(f.status)) {
		return usagef("--status %s: expected one of %s", clean(f.status), strings.Join(names(parley.ApprovalStatuses...), ", "))
	}
	return nil
}

func (a *app) approvalsListCommand() *cobra.Command {
	f := approvalsFlags{wide: true}
	c := &cobra.Command{
		Use:   "list",
		Short: "list the approvals that you may answer or have asked for, oldest first",
		Args:  cobra.NoArgs,
	}
	c.Long = c.Short + ".\n\n" + approvalsResolved
	f.add(c)
	return a.does(c, func(ctx context.Context, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		client, err := a.dial(ctx, f.as)
		if err != nil {
			return err
		}
		defer client.Close()
		return a.listApprovals(ctx, client, &f)
	})
}

// approvals pages through listApprovals.
func (a *app) approvals(ctx context.Context, client parley.Client, f *approvalsFlags) iter.Seq2[parley.Approval, error] {
	return rows(func(cursor string) ([]parley.Approval, string, error) {
		p := &parley.ListApprovalsParams{Status: parley.ApprovalStatus(f.status), ConversationID: f.conversation, Cursor: cursor}
		page, err := call(ctx, a, client.ListApprovals, p)
		if err != nil {
			return nil, "", err
		}
		return page.Approvals, page.NextCursor, nil
	})
}

func (a *app) listApprovals(ctx context.Context, client parley.Client, f *approvalsFlags) error {
	var to io.Writer = io.Discard
	if a.format != formatJSON {
		to = a.out
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tASKED BY\tEXPIRES\tTITLE")
	for p, err := range a.approvals(ctx, client, f) {
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			if err := a.out.json(p); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", clean(p.ApprovalID), approvalState(&p), clean(p.AgentID), p.ExpiresAt, clean(p.Title))
	}
	if f.conversation == "" && f.status != "" && f.status != string(parley.ApprovalPending) && a.format != formatJSON {
		a.err.line("only conversations that are open were looked at: --conversation ID lists those of one that has ended")
	}
	return w.Flush()
}

// approvalState is how an approval stands, and whether it is for somebody else to answer.
func approvalState(p *parley.Approval) string {
	if p.Status == parley.ApprovalPending && !p.MayAnswer {
		return string(p.Status) + ", by others"
	}
	return clean(string(p.Status))
}

func (a *app) approvalsShowCommand() *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show what is asked for, and how it was answered",
		Args:  cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	return a.does(c, func(ctx context.Context, args []string) error {
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		p, err := call(ctx, a, client.GetApproval, &parley.GetApprovalParams{ApprovalID: args[0]})
		if err != nil {
			return noApproval(err)
		}
		if a.format == formatJSON {
			return a.out.json(p)
		}
		return a.showApproval(p)
	})
}

// noApproval says where approvals are listed, and who may answer them.
func noApproval(err error) error {
	switch {
	case errors.Is(err, parley.ErrNotFound):
		return withHint(err, "'parley approvals' shows what this token may answer or has asked for")
	case errors.Is(err, parley.ErrForbidden):
		return withHint(err, "a participant of the conversation other than the agent answers it, with a token of their own: 'parley token create --agent PARTICIPANT --scopes read,approve'")
	}
	return err
}

// showApproval prints an approval for people.
func (a *app) showApproval(p *parley.Approval) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"id", clean(p.ApprovalID)},
		{"title", clean(p.Title)},
		{"status", approvalState(p)},
		{"asked by", fmt.Sprintf("%s in turn %d of %s", clean(p.AgentID), p.Turn, clean(p.ConversationID))},
		{"key", clean(p.Key)},
		{"requested", timeText(p.RequestedAt, 0)},
		{"expires", timeText(p.ExpiresAt, p.RequestedAt)},
		{"resolved", timeText(p.ResolvedAt, p.RequestedAt)},
		{"by", clean(p.By)},
		{"comment", clean(p.Comment)},
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
		a.out.line("\n" + part.name + ":")
		if err := a.printText(pretty(part.text)); err != nil {
			return err
		}
	}
	return nil
}
