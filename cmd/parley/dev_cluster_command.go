//go:build devcluster

package main

import "github.com/spf13/cobra"

func init() {
	taggedCommands = append(taggedCommands, func(a *app) *cobra.Command { return a.devClusterCommand() })
}
