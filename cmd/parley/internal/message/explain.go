package message

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

type explainFlags struct {
	as  string
	seq int64
}

// NewExplainCommand returns the command explain.
func NewExplainCommand(a *cli.App) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain ID [--seq N]",
		Short: "explain which agents an event triggers, or whose turn it is",
		Long: `explain --seq shows which agents an event of a conversation triggered or, in the present state,
would trigger, by which of their selectors, and why the others did not: one row for each agent on a
seat, and for each that watches its workspace. Below a row are its selectors, and the content of its
context. It changes nothing, and starts no agent.

Without --seq it shows for each participant whether it may speak now, and why.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().Int64Var(&f.seq, "seq", 0, "the event: a note, or a message that ends a turn")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if c.Flags().Changed("seq") && f.seq < 1 {
			return exit.Usagef("--seq %d: expected 1 or more", f.seq)
		}
		return runExplain(ctx, a, &f, args[0])
	})
}

func runExplain(ctx context.Context, a *cli.App, f *explainFlags, id string) error {
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	if f.seq == 0 {
		return explainFloor(ctx, a, client, id)
	}
	r, err := cli.Call(ctx, a, client.ExplainTriggers, &parley.ExplainTriggersParams{ConversationID: id, Seq: f.seq})
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	return explainTable(a, r)
}

// explainFloor says whose turn it is.
func explainFloor(ctx context.Context, a *cli.App, client parley.Client, id string) error {
	r, err := cli.Call(ctx, a, client.Explain, &parley.ExplainParams{ConversationID: id})
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, row := range r.Guidance {
		fmt.Fprintf(w, "%s\t%s\n", cli.Clean(row.ParticipantID), view.GuidanceText(row.Guidance))
	}
	return w.Flush()
}

// explainTable shows the rows, with what each selector says below.
func explainTable(a *cli.App, r *parley.ExplainTriggersResult) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tWAKES\tSTATE\tBECAUSE")
	for i := range r.Agents {
		e := &r.Agents[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", explainedName(e), wakesText(e), triggerStateText(e), cli.Clean(e.Because))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range r.Agents {
		explainSelectors(a, &r.Agents[i])
	}
	if len(r.Agents) == 0 {
		a.Err.Line("no agent sits in this conversation, and none watches its workspace")
	}
	if r.More > 0 {
		a.Err.Linef("%s more that watch the workspace are left out", cli.Count(int64(r.More), "agent"))
	}
	return nil
}

// explainedName names an agent, and its seat where that is called otherwise.
func explainedName(e *parley.TriggerExplained) string {
	plain, _, _ := strings.Cut(e.Agent, "@")
	switch {
	case e.Workspace:
		return cli.Clean(e.Agent) + " (workspace)"
	case e.AgentID != e.Agent && e.AgentID != plain:
		return cli.Clean(e.AgentID) + " (" + cli.Clean(e.Agent) + ")"
	}
	return cli.Clean(e.Agent)
}

// wakesText says whether an agent was woken, or would be now.
func wakesText(e *parley.TriggerExplained) string {
	switch {
	case e.Woken:
		return "woken"
	case e.WouldWake:
		return "would wake"
	}
	return "no"
}

func triggerStateText(e *parley.TriggerExplained) string {
	switch {
	case e.State == "":
		return "-"
	case e.SessionID != "":
		return cli.Clean(string(e.State)) + " " + cli.Clean(e.SessionID)
	}
	return cli.Clean(string(e.State))
}

// explainSelectors shows how the selectors of one agent saw the event, and what its context would
// have in it.
func explainSelectors(a *cli.App, e *parley.TriggerExplained) {
	if len(e.Selectors)+len(e.Context) == 0 {
		return
	}
	a.Out.Line("\n" + explainedName(e))
	for _, s := range e.Selectors {
		verdict := "no"
		if s.Matched {
			verdict = "matches"
		}
		a.Out.Linef("  selectors[%d] %s: %s: %s", s.Selector, cli.Clean(string(s.Role)), verdict, cli.Clean(s.Because))
	}
	for i := range e.Context {
		a.Out.Line("  context " + contextSourceText(&e.Context[i]))
	}
}

// contextSourceText says what a context selector brings, and where from.
func contextSourceText(s *parley.ContextSource) string {
	text := cli.Clean(s.Key) + " (" + cli.Clean(string(s.Fetch))
	if s.Embedder != "" {
		text += ", " + cli.Clean(s.Embedder)
	}
	text += "): "
	if s.Error != "" {
		return text + cli.Clean(s.Error)
	}
	events := make([]string, len(s.Events))
	for i, at := range s.Events {
		events[i] = view.CauseText(at)
	}
	if len(events) == 0 {
		events = []string{"nothing"}
	}
	text += strings.Join(events, " ")
	if s.Dropped > 0 {
		text += fmt.Sprintf("; %d left out", s.Dropped)
	}
	return text
}
