package conversation

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

func newShowCommand(a *cli.App) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "show ID",
		Short: "show the state of a conversation and whose turn it is",
		Args:  cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		snap, err := cli.Call(ctx, a, client.GetConversation,
			&parley.GetConversationParams{ConversationID: args[0], Limit: 1})
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			snap.Events = []parley.Event{} // the state, not the log: that is tail's
			return a.Out.JSON(snap)
		}
		return showSnapshot(a, snap)
	})
}

func showSnapshot(a *cli.App, s *parley.Snapshot) error {
	seats := make([]string, 0, len(s.Participants))
	for _, p := range s.Participants {
		about := cli.Clean(string(p.Kind))
		if agent := view.AgentText(p); agent != "" {
			about += ", " + agent
		}
		seats = append(seats, fmt.Sprintf("%s (%s)", cli.Clean(p.ID), about))
	}
	status := string(s.Status)
	if s.Status == parley.StatusClosed {
		status += ": " + view.OutcomeText(s.Outcome)
	}
	turn := fmt.Sprint(s.Turn)
	if s.OpenTurn != nil {
		turn += ", open, owned by " + cli.Clean(s.OpenTurn.Owner)
		if s.OpenTurn.Claim != nil {
			turn += ", " + view.ClaimText(s.OpenTurn.Claim)
		}
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"id", cli.Clean(s.ConversationID)},
		{"title", cli.Clean(s.Title)},
		{"status", status},
		{"workspace", cli.Clean(s.Workspace)},
		{"participants", strings.Join(seats, ", ")},
		{"session", view.SnapshotSession(s)},
		{"fork of", view.ForkText(s.Fork)},
		{"policy", view.PolicyText(s.Policy)},
		{"turn", turn},
		{"guidance", view.GuidanceText(s.Guidance)},
		{"created", s.CreatedAt.String() + " by " + cli.Clean(s.CreatedBy)},
		{"latest seq", fmt.Sprint(s.LatestSeq)},
		{"head hash", cli.Clean(s.HeadHash)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	return w.Flush()
}
