// Package agent has the command agent, which lists and shows agents, and reads the parameters of
// their sessions by their schemas.
//
//	root.AddCommand(agent.NewCommand(app))
package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/runner"
)

// NewCommand returns the command agent.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{Use: "agent", Short: "list agents, their runners and their parameters"},
		newListCommand(a), newShowCommand(a), newExecutorsCommand(a), newCheckCommand(a))
}

// NewAgentsCommand is agent list, for those who type less.
func NewAgentsCommand(a *cli.App) *cobra.Command {
	c := newListCommand(a)
	c.Use, c.Long = "agents", c.Short+". It is 'parley agent list'.\n\n"+agentStates
	c.AddCommand(newCheckCommand(a))
	return c
}

func newCheckCommand(a *cli.App) *cobra.Command {
	var f runner.ModelFlags
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "check the agents of a directory of blueprints",
		Long: `check reads the files of DIR as 'parley run --blueprints' and 'parley serve --blueprints'
do, and creates their agents with the available runtimes: those with keys in the environment, those
of --models, and scripts. It prints a line for each valid file and for each fault. It calls no hub
and no model, and starts nothing.

The exit code is 2 when there are faults.`,
		Args: cobra.ExactArgs(1),
	}
	f.AddTo(c, "")
	return a.SetRun(c, func(_ context.Context, args []string) error {
		if err := f.Check(c.Flags().Changed); err != nil {
			return err
		}
		return runner.CheckDirectory(a, args[0], &f)
	})
}

const agentStates = `STATE is online, away (its runner is not connected: it may come back), stale
(it has been away for 90 s; after 180 s it is gone) or offline. A session of an agent that is away
waits for it.`

func newListCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "list the agents that are registered with the hub, by name",
		Args:  cobra.NoArgs,
	}
	c.Long = c.Short + ".\n\n" + agentStates
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		client, err := a.Dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		r, err := cli.Call(ctx, a, client.ListAgents, &parley.ListAgentsParams{IncludeConfig: true}) // for subscriptions
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			for _, info := range r.Agents {
				info.AgentConfig = nil
				if err := a.Out.JSON(info); err != nil {
					return err
				}
			}
			return nil
		}
		return printTable(a, r.Agents)
	})
}

func printTable(a *cli.App, agents []parley.AgentInfo) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTYPE\tSTATE\tRUNNER\tDESCRIPTION")
	for i := range agents {
		info := &agents[i]
		about, _, _ := strings.Cut(strings.TrimSpace(info.Description), "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cli.Clean(info.Name), cli.Clean(string(info.Type)), stateText(info),
			cli.Clean(cmp.Or(info.RunnerID, info.Runner)), cli.Clean(about))
	}
	if len(agents) == 0 {
		a.Err.Line("no agents yet: 'parley run' and 'parley serve --blueprints DIR' bring some")
	}
	return w.Flush()
}

// stateText says whether an agent can be asked now.
func stateText(info *parley.AgentInfo) string {
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

// Find returns the row of listAgents for a name.
func Find(ctx context.Context, a *cli.App, client parley.Client, name string) (*parley.AgentInfo, error) {
	r, err := cli.Call(ctx, a, client.ListAgents, &parley.ListAgentsParams{IncludeConfig: true}) // for subscriptions
	if err != nil {
		return nil, err
	}
	plain, runner, _ := strings.Cut(name, "@")
	i := slices.IndexFunc(r.Agents, func(i parley.AgentInfo) bool { return i.Name == name })
	if i < 0 && runner != "" { // the first of a name may be called by its runner too
		i = slices.IndexFunc(r.Agents, func(i parley.AgentInfo) bool { return i.Name == plain && i.RunnerID == runner })
	}
	if i < 0 {
		return nil, exit.WithHint(parley.Refuse(parley.ErrNotFound, fmt.Sprintf("there is no agent %s", cli.Clean(name)), ""),
			"'parley agents' lists them")
	}
	r.Agents[i].AgentConfig = nil
	return &r.Agents[i], nil
}
