package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) turnCommand() *cobra.Command {
	return group(&cobra.Command{Use: "turn", Short: "cancel turns"}, a.turnCancelCommand())
}

func (a *app) turnCancelCommand() *cobra.Command {
	var as, reason string
	c := &cobra.Command{
		Use:   "cancel ID TURN",
		Short: "end a turn without a final message (its people, who spoke before it, admins)",
		Long: `cancel ends a turn that nobody has finished: the open one, or the next one where it belongs to one participant. Whoever works on it is told to stop,
what was said in it stays, and the floor goes on. TURN is told by 'parley conversation show ID'.`,
		Args: cobra.ExactArgs(2),
	}
	asFlag(c, &as)
	c.Flags().StringVar(&reason, "reason", "", "why, in a few words that all participants read")
	return a.does(c, func(ctx context.Context, args []string) error {
		turn, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || turn < 1 {
			return usagef("TURN %s: expected a number from 1", args[1])
		}
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		p := &parley.CancelTurnParams{ConversationID: args[0], Turn: turn, Reason: reason}
		r, err := call(ctx, a, client.CancelTurn, p)
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.out.json(r)
		}
		a.out.linef("seq %d", r.Seq)
		return nil
	})
}
