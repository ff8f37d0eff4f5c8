package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// helpCommand is cobra's, but a topic that does not exist is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "tell about a command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usagef("unknown command %q", clean(strings.Join(args, " ")))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var offers []string
			for _, sub := range about.Commands() {
				if !sub.Hidden {
					offers = append(offers, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return offers, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
