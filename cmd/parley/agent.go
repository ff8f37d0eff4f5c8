package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) agentCommand() *cobra.Command {
	return group(&cobra.Command{Use: "agent", Short: "list the agents that can be asked to do something"}, a.agentListCommand())
}

func (a *app) agentListCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "list the agents that are registered with the hub, by name",
		Args:  cobra.NoArgs,
	}
	return a.does(c, func(ctx context.Context, _ []string) error {
		client, err := a.dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		r, err := call(ctx, a, client.ListAgents, &parley.ListAgentsParams{})
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			for _, info := range r.Agents {
				if err := a.out.json(info); err != nil {
					return err
				}
			}
			return nil
		}
		return a.agentTable(r.Agents)
	})
}

func (a *app) agentTable(agents []parley.AgentInfo) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTYPE\tSTATE\tDESCRIPTION")
	for _, info := range agents {
		state := "offline"
		if info.Online {
			state = "online"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", clean(info.Name), clean(string(info.Type)), state, clean(info.Description))
	}
	return w.Flush()
}
