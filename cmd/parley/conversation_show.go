package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) conversationShowCommand() *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show where a conversation stands and whose turn it is",
		Args:  cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	return a.does(c, func(ctx context.Context, args []string) error {
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		snap, err := call(ctx, a, client.GetConversation, &parley.GetConversationParams{ConversationID: args[0], Limit: 1})
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			snap.Events = []parley.Event{} // the state, not the log: that is tail's
			return a.out.json(snap)
		}
		return a.showSnapshot(snap)
	})
}

func (a *app) showSnapshot(s *parley.Snapshot) error {
	seats := make([]string, 0, len(s.Participants))
	for _, p := range s.Participants {
		about := clean(string(p.Kind))
		if agent := agentText(p); agent != "" {
			about += ", " + agent
		}
		seats = append(seats, fmt.Sprintf("%s (%s)", clean(p.ID), about))
	}
	status := string(s.Status)
	if s.Status == parley.StatusClosed {
		status += ": " + outcomeText(s.Outcome)
	}
	turn := fmt.Sprint(s.Turn)
	if s.OpenTurn != nil {
		turn += ", open, owned by " + clean(s.OpenTurn.Owner)
		if s.OpenTurn.Claim != nil {
			turn += ", " + claimText(s.OpenTurn.Claim)
		}
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"id", clean(s.ConversationID)},
		{"title", clean(s.Title)},
		{"status", status},
		{"workspace", clean(s.Workspace)},
		{"participants", strings.Join(seats, ", ")},
		{"session", snapshotSession(s)},
		{"fork of", forkText(s.Fork)},
		{"policy", policyText(s.Policy)},
		{"turn", turn},
		{"guidance", guidanceText(s.Guidance)},
		{"created", s.CreatedAt.String() + " by " + clean(s.CreatedBy)},
		{"latest seq", fmt.Sprint(s.LatestSeq)},
		{"head hash", clean(s.HeadHash)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	return w.Flush()
}
