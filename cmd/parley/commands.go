package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// taggedCommands are the commands that exist only with a build tag: dev-cluster with devcluster.
var taggedCommands []func(*app) *cobra.Command

// run runs the program with all its commands, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, args, streams{stdin, stdout, stderr}, addCommands)
}

// addCommands adds all commands to the root command.
func addCommands(a *app, root *cobra.Command) {
	root.AddCommand(
		a.serveCommand(), a.demoCommand(), a.demoClinicCommand(),
		a.conversationCommand(), a.turnCommand(), a.scenarioCommand(), a.sendCommand(), a.noteCommand(), a.explainCommand(), a.tailCommand(), a.chatCommand(), a.attachmentCommand(), a.shareCommand(),
		a.tokenCommand(), a.agentCommand(), a.agentsCommand(), a.startCommand(), a.sessionCommand(), a.approvalsCommand(), a.runCommand(), a.wrapCommand(), a.mcpCommand(), a.a2aCommand(), a.consoleCommand(), a.statsCommand(), a.logCommand(), a.versionCommand(),
		a.configCommand(), a.schemaCommand(), a.doctorCommand(), a.readyCommand(), a.completionCommand(), exitCodesTopic(),
	)
	for _, command := range taggedCommands {
		root.AddCommand(command(a))
	}
	addCompletion(root)
}
