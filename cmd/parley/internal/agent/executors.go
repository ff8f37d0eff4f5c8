package agent

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

func newExecutorsCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "executors",
		Short: "list the connections that run agents now, with their load",
		Long: `executors lists the connections that run agents now: your own, or all for admins. CLAIMS
is the number of running turns and the capacity. A turn that waits for an approval or for a session
does not count. 'parley agent list' has the agents of blueprint runners, with the id of the runner
as RUNNER.`,
		Args: cobra.NoArgs,
	}
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		client, err := a.Dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		r, err := cli.Call(ctx, a, client.ListAgents, &parley.ListAgentsParams{IncludeExecutors: true})
		if err != nil {
			return err
		}
		return printExecutors(a, r)
	})
}

func printExecutors(a *cli.App, r *parley.ListAgentsResult) error {
	if r.ExecutorsMore > 0 {
		a.Err.Line(fmt.Sprintf("%d more executors are not listed", r.ExecutorsMore))
	}
	if a.Format == cli.FormatJSON {
		for i := range r.Executors {
			if err := a.Out.JSON(&r.Executors[i]); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EXECUTOR\tOF\tMODE\tCLAIMS\tAGENTS\tLABELS")
	for i := range r.Executors {
		x := &r.Executors[i]
		of := cli.Clean(x.RegisteredBy)
		if x.Internal {
			of = "the hub"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", cli.Clean(x.ExecutorID), of, cli.Clean(string(x.Mode)), x.Claims,
			x.Capacity, cli.Clean(strings.Join(x.Agents, " ")), labelsText(x.Labels))
	}
	if len(r.Executors) == 0 {
		a.Err.Line("no executors of yours are connected")
	}
	return w.Flush()
}
