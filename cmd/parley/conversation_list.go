package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) conversationListCommand() *cobra.Command {
	var workspace string
	c := a.summaryCommand("list the conversations that the token sees, oldest first", func(ctx context.Context, client parley.Client, status parley.Status) error {
		q := parley.ListConversationsParams{Status: status, Workspace: workspace}
		if a.format == formatJSON {
			return a.listJSON(ctx, client, q)
		}
		return a.listTable(ctx, client, q)
	})
	c.Flags().StringVar(&workspace, "workspace", "", "those of a workspace that the token grants, instead")
	return c
}

// summaryCommand is a command that lists conversations of some kind.
func (a *app) summaryCommand(short string, list func(context.Context, parley.Client, parley.Status) error) *cobra.Command {
	var as, status string
	c := &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs}
	asFlag(c, &as)
	c.Flags().StringVar(&status, "status", "", "active or closed (default: both)")
	return a.does(c, func(ctx context.Context, _ []string) error {
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		return list(ctx, client, parley.Status(status))
	})
}

// summaries pages through listConversations.
func (a *app) summaries(ctx context.Context, client parley.Client, q parley.ListConversationsParams) iter.Seq2[parley.ConversationSummary, error] {
	return rows(func(cursor string) ([]parley.ConversationSummary, string, error) {
		q.Limit, q.Cursor = 100, cursor
		page, err := call(ctx, a, client.ListConversations, &q)
		if err != nil {
			return nil, "", err
		}
		return page.Conversations, page.NextCursor, nil
	})
}

func (a *app) listJSON(ctx context.Context, client parley.Client, q parley.ListConversationsParams) error {
	for s, err := range a.summaries(ctx, client, q) {
		if err != nil {
			return err
		}
		if err := a.out.json(s); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) listTable(ctx context.Context, client parley.Client, q parley.ListConversationsParams) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tTURN\tSEQ\tUPDATED\tPARTICIPANTS\tTITLE")
	for s, err := range a.summaries(ctx, client, q) {
		if err != nil {
			return err
		}
		state := string(s.Status)
		if s.Status == parley.StatusClosed {
			state = outcomeText(s.Outcome)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", clean(s.ConversationID), clean(state), s.Turn, s.LatestSeq, s.UpdatedAt,
			clean(strings.Join(s.Participants, " ")), clean(s.Title))
	}
	return w.Flush()
}
