//go:build devcluster

package commands

import (
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/devcluster"
)

func init() {
	taggedCommands = append(taggedCommands, func(a *cli.App) *cobra.Command { return devcluster.NewCommand(a) })
}
