package main

import "github.com/spf13/cobra"

func (a *app) logCommand() *cobra.Command {
	return group(&cobra.Command{Use: "log", Short: "verify, export, back up, import and compact the log"},
		a.logVerifyCommand(), a.logExportCommand(), a.logBackupCommand(), a.logImportCommand(), a.logCompactCommand())
}

// withoutAttachments is the flag of the commands that read or write files of lines.
const withoutAttachments = "without-attachments"
