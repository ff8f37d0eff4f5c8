// Package chat has the command chat, which is the seat of a person in a conversation, on a terminal
// or a pipe.
//
//	root.AddCommand(chat.NewCommand(app))
package chat

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// NewCommand returns the command chat.
func NewCommand(a *cli.App) *cobra.Command {
	var as string
	c := &cobra.Command{
		Use:   "chat ID",
		Short: "take part in a conversation as a person",
		Long: `chat shows a conversation and lets a person speak in it. There is a prompt when it is your
turn; a line ends your turn.

` + chatHelp + `

If stdin is no terminal, each line but /why and /note waits for your turn; at its end chat leaves.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		n := &cli.ConnectionNotices{}
		client, err := a.DialNotifying(ctx, as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		d, err := openTerminal(a, client.AgentID())
		if err != nil {
			return err
		}
		seat := newChat(a, client, d, args[0])
		n.SendTo(seat.notify)
		err = seat.run(ctx)
		n.SendTo(nil)
		return errors.Join(err, d.close())
	})
}
