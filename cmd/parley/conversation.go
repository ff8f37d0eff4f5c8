package main

import (
	"github.com/spf13/cobra"
)

func (a *app) conversationCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "conversation",
		Aliases: []string{"conv"},
		Short:   "create, list, show, fork and close conversations",
	}, a.conversationCreateCommand(), a.conversationListCommand(), a.conversationShowCommand(), a.conversationForkCommand(),
		a.conversationCloseCommand())
}
