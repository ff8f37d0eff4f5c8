package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) agentExecutorsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "executors",
		Short: "list the connections that run agents now, with their load",
		Long: `executors lists the connections that run agents now: those that you have registered and, for admins, all. CLAIMS is how many turns one works on, of how many it may be offered
to hold at once; a turn that waits for an approval or for a session is not counted. What a runner of blueprints has registered is in 'parley agent list', with its id as RUNNER.`,
		Args: cobra.NoArgs,
	}
	return a.does(c, func(ctx context.Context, _ []string) error {
		client, err := a.dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		r, err := call(ctx, a, client.ListAgents, &parley.ListAgentsParams{IncludeExecutors: true})
		if err != nil {
			return err
		}
		return a.showExecutors(r)
	})
}

func (a *app) showExecutors(r *parley.ListAgentsResult) error {
	if r.ExecutorsMore > 0 {
		a.err.line(fmt.Sprintf("%d more executors are not listed", r.ExecutorsMore))
	}
	if a.format == formatJSON {
		for i := range r.Executors {
			if err := a.out.json(&r.Executors[i]); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EXECUTOR\tOF\tMODE\tCLAIMS\tAGENTS\tLABELS")
	for i := range r.Executors {
		x := &r.Executors[i]
		of := clean(x.RegisteredBy)
		if x.Internal {
			of = "the hub"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", clean(x.ExecutorID), of, clean(string(x.Mode)), x.Claims, x.Capacity, clean(strings.Join(x.Agents, " ")), labelsText(x.Labels))
	}
	if len(r.Executors) == 0 {
		a.err.line("no executors of yours are connected")
	}
	return w.Flush()
}
