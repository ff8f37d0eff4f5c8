package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) conversationForkCommand() *cobra.Command {
	var as string
	var p parley.ForkConversationParams
	c := &cobra.Command{
		Use:   "fork ID --seq N",
		Short: "begin a conversation as another one was at an event, and print its id (the other's creator, its people, admins)",
		Long: `fork makes a conversation that has the events of another up to one, as they are, and goes on by itself. The other is left alone, and may be closed.

  parley conversation fork cnv_abc --seq 12 --title "what if the answer was no"

A turn that was being worked at is offered anew in the fork. Sessions that run for the other, and what it was asked to approve, stay the other's.
Repeating a fork with the same --key and the same words is safe: it is made once.`,
		Args: cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	c.Flags().Int64Var(&p.Seq, "seq", 0, "the last event that both have")
	c.Flags().StringVar(&p.ForkID, "id", "", "id of the fork (default: the hub chooses)")
	c.Flags().StringVar(&p.Title, "title", "", "title of the fork (default: that of the other)")
	c.Flags().StringVar(&p.ClientRequestID, "key", "", "idempotency key: repeating a call with it has no second effect")
	return a.does(c, func(ctx context.Context, args []string) error {
		if !c.Flags().Changed("seq") {
			return usagef("which event is the last that both have? --seq N")
		}
		p.ConversationID = args[0]
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		fork, err := call(ctx, a, client.ForkConversation, &p)
		if errors.Is(err, parley.ErrCursorAhead) {
			return withHint(err, "'parley tail "+clean(args[0])+"' shows the events with their numbers")
		}
		if errors.Is(err, parley.ErrForbidden) {
			return withHint(err, "its creator, the people in it and admins fork a conversation, with the scope create; nobody forks a session")
		}
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.out.json(fork)
		}
		a.out.line(clean(fork.ConversationID))
		return nil
	})
}
