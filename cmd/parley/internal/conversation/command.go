package conversation

import (
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:     "conversation",
		Aliases: []string{"conv"},
		Short:   "create, list, show, fork and close conversations",
	}, newCreateCommand(a), newListCommand(a), newShowCommand(a), newForkCommand(a),
		newCloseCommand(a))
}
