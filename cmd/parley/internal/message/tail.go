package message

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

type tailFlags struct {
	as     string
	follow bool
	since  int64
	types  []string
}

// NewTailCommand returns the command tail.
func NewTailCommand(a *cli.App) *cobra.Command {
	var f tailFlags
	c := &cobra.Command{
		Use:   "tail ID",
		Short: "print the events of a conversation",
		Long: `tail prints the events that the token sees. With -f it continues, over any number of reconnects and
restarts of the hub, until the conversation is closed. With -o json each line is the event exactly
as it is stored.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "follow until the conversation is closed")
	c.Flags().Int64Var(&f.since, "since", 0, "seq to begin after")
	c.Flags().StringSliceVar(&f.types, "types", nil, "types of events: message, trace, system (default: all)")
	return a.SetRun(c, func(ctx context.Context, args []string) error { return printEvents(ctx, a, f, args[0]) })
}

var eventTypes = []string{string(parley.TypeMessage), string(parley.TypeTrace), string(parley.TypeSystem)}

func printEvents(ctx context.Context, a *cli.App, f tailFlags, id string) error {
	for _, t := range f.types {
		if !slices.Contains(eventTypes, t) {
			return exit.Usagef("--types %s: expected message, trace or system", t)
		}
	}
	n := &cli.ConnectionNotices{}
	if f.follow {
		n.SendTo(func(text string) { a.Err.Line("-- " + text) })
	}
	client, err := a.DialNotifying(ctx, f.as, n)
	if err != nil {
		return err
	}
	defer client.Close()
	events := a.ReadEvents(ctx, client, id, f.since)
	if f.follow {
		events = client.Events(ctx, id, f.since)
	}
	show := newEventWriter(a)
	for e, err := range events {
		if f.follow && ctx.Err() != nil {
			return nil // a signal is how one stops following
		}
		if err != nil {
			return err
		}
		if len(f.types) > 0 && !slices.Contains(f.types, string(e.Type)) {
			continue
		}
		if err := show(&e); err != nil {
			return err
		}
	}
	return nil
}

func newEventWriter(a *cli.App) func(*parley.Event) error {
	if a.Format == cli.FormatJSON {
		return func(e *parley.Event) error {
			_, err := a.Out.Write(append(view.RawEvent(e), '\n'))
			return err
		}
	}
	v := view.New(a.Out)
	return func(e *parley.Event) error {
		v.Event(e)
		return a.Out.WriteError()
	}
}
