package commands

import (
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/a2a"
	"github.com/parleyhub/parley/cmd/parley/internal/agent"
	"github.com/parleyhub/parley/cmd/parley/internal/approval"
	"github.com/parleyhub/parley/cmd/parley/internal/attachment"
	"github.com/parleyhub/parley/cmd/parley/internal/chat"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/console"
	"github.com/parleyhub/parley/cmd/parley/internal/conversation"
	"github.com/parleyhub/parley/cmd/parley/internal/demo"
	"github.com/parleyhub/parley/cmd/parley/internal/doctor"
	"github.com/parleyhub/parley/cmd/parley/internal/logs"
	"github.com/parleyhub/parley/cmd/parley/internal/mcp"
	"github.com/parleyhub/parley/cmd/parley/internal/message"
	"github.com/parleyhub/parley/cmd/parley/internal/runner"
	"github.com/parleyhub/parley/cmd/parley/internal/schema"
	"github.com/parleyhub/parley/cmd/parley/internal/serve"
	"github.com/parleyhub/parley/cmd/parley/internal/session"
	"github.com/parleyhub/parley/cmd/parley/internal/share"
	"github.com/parleyhub/parley/cmd/parley/internal/stats"
	"github.com/parleyhub/parley/cmd/parley/internal/token"
	"github.com/parleyhub/parley/cmd/parley/internal/wrap"
)

// taggedCommands are the commands that exist only with a build tag: dev-cluster with devcluster.
var taggedCommands []func(*cli.App) *cobra.Command

// addCommands adds all commands to the root command.
func addCommands(a *cli.App, root *cobra.Command) {
	root.AddCommand(
		serve.NewCommand(a), demo.NewCommand(a), demo.NewClinicCommand(a),
		conversation.NewCommand(a), conversation.NewTurnCommand(a), conversation.NewScenarioCommand(a),
		message.NewSendCommand(a), message.NewNoteCommand(a), message.NewExplainCommand(a), message.NewTailCommand(a),
		chat.NewCommand(a), attachment.NewCommand(a), share.NewCommand(a),
		token.NewCommand(a), agent.NewCommand(a), agent.NewAgentsCommand(a), session.NewStartCommand(a),
		session.NewCommand(a), approval.NewCommand(a), runner.NewCommand(a), wrap.NewCommand(a), mcp.NewCommand(a),
		a2a.NewCommand(a), console.NewCommand(a), stats.NewCommand(a), logs.NewCommand(a), versionCommand(a),
		serve.NewConfigCommand(a), schema.NewCommand(a), doctor.NewCommand(a), doctor.NewReadyCommand(a),
		completionCommand(a), cli.NewExitCodesTopic(),
	)
	for _, command := range taggedCommands {
		root.AddCommand(command(a))
	}
	addCompletion(root)
}
