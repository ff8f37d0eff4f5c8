package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) agentCommand() *cobra.Command {
	return group(&cobra.Command{Use: "agent", Short: "list the agents that can be asked to do something"}, a.agentListCommand(), a.agentShowCommand(), a.agentExecutorsCommand(), a.agentCheckCommand())
}

// agentsCommand is agent list, for those who type less.
func (a *app) agentsCommand() *cobra.Command {
	c := a.agentListCommand()
	c.Use, c.Long = "agents", c.Short+". It is 'parley agent list'.\n\n"+agentStates
	c.AddCommand(a.agentCheckCommand())
	return c
}

func (a *app) agentCheckCommand() *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "tell what is wrong with the agents of a directory of blueprints",
		Long: `check reads the files of DIR as 'parley run --blueprints' and 'parley serve --blueprints' do, and makes the agents that they describe with the runtimes that are there: what
the environment has keys of, what --models adds, and scripts. It prints a line for each file that can be run and for each fault, asks no hub and no model, and starts nothing.

The exit code is 2 when there are faults.`,
		Args: cobra.ExactArgs(1),
	}
	f.add(c, "")
	return a.does(c, func(_ context.Context, args []string) error {
		if err := f.agree(c.Flags().Changed); err != nil {
			return err
		}
		return a.checkDirectory(args[0], &f)
	})
}

const agentStates = `STATE is online, away (its runner is not connected: it may come back), stale (it has been away for 90 s; after 180 s it is gone) or offline.
A session of an agent that is away waits for it.`

func (a *app) agentListCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "list the agents that are registered with the hub, by name",
		Args:  cobra.NoArgs,
	}
	c.Long = c.Short + ".\n\n" + agentStates
	return a.does(c, func(ctx context.Context, _ []string) error {
		client, err := a.dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		r, err := call(ctx, a, client.ListAgents, &parley.ListAgentsParams{IncludeConfig: true}) // for subscriptions
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			for _, info := range r.Agents {
				info.AgentConfig = nil
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
	fmt.Fprintln(w, "NAME\tTYPE\tSTATE\tRUNNER\tDESCRIPTION")
	for i := range agents {
		info := &agents[i]
		about, _, _ := strings.Cut(strings.TrimSpace(info.Description), "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", clean(info.Name), clean(string(info.Type)), agentState(info), clean(cmp.Or(info.RunnerID, info.Runner)), clean(about))
	}
	if len(agents) == 0 {
		a.err.line("no agents yet: 'parley run' and 'parley serve --blueprints DIR' bring some")
	}
	return w.Flush()
}

// agentState says whether an agent can be asked now.
func agentState(info *parley.AgentInfo) string {
	switch {
	case info.Online:
		return "online"
	case info.Stale:
		return "stale"
	case info.RunnerID != "":
		return "away"
	}
	return "offline"
}
