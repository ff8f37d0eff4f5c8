// Package conversation has the commands conversation, scenario and turn, which create, list, show,
// fork and close conversations.
//
//	root.AddCommand(conversation.NewCommand(app))
package conversation

import (
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// NewCommand returns the command conversation.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:     "conversation",
		Aliases: []string{"conv"},
		Short:   "create, list, show, fork and close conversations",
	}, newCreateCommand(a), newListCommand(a), newShowCommand(a), newForkCommand(a),
		newCloseCommand(a))
}
