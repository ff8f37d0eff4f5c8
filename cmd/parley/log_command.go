package main

import "github.com/spf13/cobra"

func (a *app) logCommand() *cobra.Command {
	return group(&cobra.Command{Use: "log", Short: "verify and export the log"}, a.logVerifyCommand(), a.logExportCommand())
}
