package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) chatCommand() *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "chat ID",
		Short: "take a seat in a conversation",
		Long: `chat shows a conversation and lets a person speak in it. There is a prompt when it is your turn; a line ends your turn.

` + chatHelp + `

If stdin is no terminal, each line but /why and /note waits for your turn; at its end chat leaves.`,
		Args: cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	return a.does(c, func(ctx context.Context, args []string) error {
		n := &notices{}
		client, err := a.dialTelling(ctx, as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		d, err := a.openDesk(client.AgentID())
		if err != nil {
			return err
		}
		seat := newChat(a, client, d, args[0])
		n.to(seat.tell)
		err = seat.run(ctx)
		n.to(nil)
		return errors.Join(err, d.close())
	})
}
