package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

type explainFlags struct {
	as  string
	seq int64
}

func (a *app) explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain ID [--seq N]",
		Short: "say why an event wakes whom, or whose turn it is",
		Long: `explain --seq says which agents an event of a conversation has woken or, as things are now, would wake, by which of their selectors, and why the others not: one row for
each agent that sits there, and for each that watches its workspace. Below a row stand its selectors, and what its context would have in it. It changes nothing, and starts nobody.

Without --seq it says for each participant whether it may speak now, and why.`,
		Args: cobra.ExactArgs(1),
	}
	asFlag(c, &f.as)
	c.Flags().Int64Var(&f.seq, "seq", 0, "the event: a note, or a message that ends a turn")
	return a.does(c, func(ctx context.Context, args []string) error {
		if c.Flags().Changed("seq") && f.seq < 1 {
			return usagef("--seq %d: expected 1 or more", f.seq)
		}
		return a.explain(ctx, &f, args[0])
	})
}

func (a *app) explain(ctx context.Context, f *explainFlags, id string) error {
	client, err := a.dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	if f.seq == 0 {
		return a.explainFloor(ctx, client, id)
	}
	r, err := call(ctx, a, client.ExplainTriggers, &parley.ExplainTriggersParams{ConversationID: id, Seq: f.seq})
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(r)
	}
	return a.explainTable(r)
}

// explainFloor says whose turn it is.
func (a *app) explainFloor(ctx context.Context, client parley.Client, id string) error {
	r, err := call(ctx, a, client.Explain, &parley.ExplainParams{ConversationID: id})
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(r)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range r.Guidance {
		fmt.Fprintf(w, "%s\t%s\n", clean(row.ParticipantID), guidanceText(row.Guidance))
	}
	return w.Flush()
}

// explainTable shows the rows, with what each selector says below.
func (a *app) explainTable(r *parley.ExplainTriggersResult) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tWAKES\tSTATE\tBECAUSE")
	for i := range r.Agents {
		e := &r.Agents[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", explainedName(e), wakesText(e), stateText(e), clean(e.Because))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range r.Agents {
		a.explainSelectors(&r.Agents[i])
	}
	if len(r.Agents) == 0 {
		a.err.line("no agent sits in this conversation, and none watches its workspace")
	}
	if r.More > 0 {
		a.err.linef("%s more that watch the workspace are left out", count(int64(r.More), "agent"))
	}
	return nil
}

// explainedName names an agent, and its seat where that is called otherwise.
func explainedName(e *parley.TriggerExplained) string {
	plain, _, _ := strings.Cut(e.Agent, "@")
	switch {
	case e.Workspace:
		return clean(e.Agent) + " (workspace)"
	case e.AgentID != e.Agent && e.AgentID != plain:
		return clean(e.AgentID) + " (" + clean(e.Agent) + ")"
	}
	return clean(e.Agent)
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

func stateText(e *parley.TriggerExplained) string {
	switch {
	case e.State == "":
		return "-"
	case e.SessionID != "":
		return clean(string(e.State)) + " " + clean(e.SessionID)
	}
	return clean(string(e.State))
}

// explainSelectors shows how the selectors of one agent saw the event, and what its context would have in it.
func (a *app) explainSelectors(e *parley.TriggerExplained) {
	if len(e.Selectors)+len(e.Context) == 0 {
		return
	}
	a.out.line("\n" + explainedName(e))
	for _, s := range e.Selectors {
		verdict := "no"
		if s.Matched {
			verdict = "matches"
		}
		a.out.linef("  selectors[%d] %s: %s: %s", s.Selector, clean(string(s.Role)), verdict, clean(s.Because))
	}
	for i := range e.Context {
		a.out.line("  context " + sourceText(&e.Context[i]))
	}
}

// sourceText says what a context selector brings, and where from.
func sourceText(s *parley.ContextSource) string {
	text := clean(s.Key) + " (" + clean(string(s.Fetch))
	if s.Embedder != "" {
		text += ", " + clean(s.Embedder)
	}
	text += "): "
	if s.Error != "" {
		return text + clean(s.Error)
	}
	events := make([]string, len(s.Events))
	for i, at := range s.Events {
		events[i] = causeText(at)
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

// causeText names an event, and its conversation where that is another.
func causeText(c parley.Cause) string {
	if c.ConversationID == "" {
		return fmt.Sprintf("#%d", c.Seq)
	}
	return fmt.Sprintf("%s#%d", clean(c.ConversationID), c.Seq)
}
