package main

import (
	"context"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

type tailFlags struct {
	as     string
	follow bool
	since  int64
	types  []string
}

func (a *app) tailCommand() *cobra.Command {
	var f tailFlags
	c := &cobra.Command{
		Use:   "tail ID",
		Short: "print the events of a conversation",
		Long: `tail prints the events that the token sees. With -f it goes on, over any number of reconnects and restarts of the hub, until the
conversation is closed. With -o json each line is the event exactly as it is stored.`,
		Args: cobra.ExactArgs(1),
	}
	asFlag(c, &f.as)
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until the conversation is closed")
	c.Flags().Int64Var(&f.since, "since", 0, "begin after this seq")
	c.Flags().StringSliceVar(&f.types, "types", nil, "only these: message, trace, system (default: all)")
	return a.does(c, func(ctx context.Context, args []string) error { return a.tail(ctx, f, args[0]) })
}

var eventTypes = []string{string(parley.TypeMessage), string(parley.TypeTrace), string(parley.TypeSystem)}

func (a *app) tail(ctx context.Context, f tailFlags, id string) error {
	for _, t := range f.types {
		if !slices.Contains(eventTypes, t) {
			return usagef("--types %s: expected message, trace or system", t)
		}
	}
	n := &notices{}
	if f.follow {
		n.to(func(text string) { a.err.line("-- " + text) })
	}
	client, err := a.dialTelling(ctx, f.as, n)
	if err != nil {
		return err
	}
	defer client.Close()
	events := a.pages(ctx, client, id, f.since)
	if f.follow {
		events = client.Events(ctx, id, f.since)
	}
	show := a.eventPrinter()
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

func (a *app) eventPrinter() func(*parley.Event) error {
	if a.format == formatJSON {
		return func(e *parley.Event) error {
			_, err := a.out.Write(append(rawEvent(e), '\n'))
			return err
		}
	}
	v := newView(a.out)
	return func(e *parley.Event) error {
		v.event(e)
		return a.out.failure()
	}
}

// pages gives what the log holds now.
func (a *app) pages(ctx context.Context, client parley.Client, id string, since int64) iter.Seq2[parley.Event, error] {
	return func(yield func(parley.Event, error) bool) {
		p := &parley.TailParams{ConversationID: id, SinceSeq: since, Limit: parley.MaxPage}
		for {
			page, err := call(ctx, a, client.Tail, p)
			if err != nil {
				yield(parley.Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			if page.NextSeq >= page.LatestSeq {
				return
			}
			p.SinceSeq = page.NextSeq
		}
	}
}
