package a2a

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/runner"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/a2a"
)

type inviteFlags struct {
	runner.TurnFlags
	peer    peerFlags
	card    string
	maxWait time.Duration
}

func newInviteCommand(a *cli.App) *cobra.Command {
	var f inviteFlags
	c := &cobra.Command{
		Use:   "invite --agent ID --card URL",
		Short: "run the turns of an agent on a remote A2A agent",
		Long: `invite runs the turns of an agent of the hub on a remote agent. URL is the card of the
remote agent, or the address below which the card is. For each turn, invite sends all new messages
of other participants as one message. The answer of the remote agent becomes the message of the
turn. A task that needs input waits for the next turn, and the failure of a task is posted. If the
turn is canceled or the conversation closed, the task is canceled too. The log has the open tasks,
so invite can be stopped and started at any time.

` + peerHelp + `

One line about each turn goes to stderr, or with -o json an object to stdout. invite runs until a
signal stops it. Any number of processes may serve the same agent.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.card, "card", "", "URL of the card, or of the agent (required)")
	c.Flags().DurationVar(&f.maxWait, "max-wait", a2a.DefaultMaxWait,
		"time limit of a turn at the remote agent; limits of the conversation apply too")
	f.TurnFlags.AddTo(c)
	f.peer.addTo(c)
	return a.SetRun(c, func(ctx context.Context, _ []string) error { return invite(ctx, a, &f) })
}

func invite(ctx context.Context, a *cli.App, f *inviteFlags) error {
	switch {
	case f.card == "":
		return exit.Usagef("--card: expected the URL of a card")
	case f.maxWait <= 0:
		return exit.Usagef("--max-wait %s: expected more than 0", f.maxWait)
	}
	o, err := f.Options()
	if err != nil {
		return err
	}
	po, err := f.peer.options(f.card)
	if err != nil {
		return err
	}
	po.MaxWait, po.Logger = f.maxWait, slog.New(runner.ExecutorLog{App: a})
	agent, err := a2a.New(po)
	if err != nil {
		return exit.Usage(err)
	}
	o.Logger, o.Grace = po.Logger, a2a.AbandonWait
	n := &cli.ConnectionNotices{}
	n.SendTo(func(text string) { a.Err.Line("-- " + text) })
	client, err := a.DialNotifying(ctx, f.Agents[0], n)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, told, err := f.OpenTelemetry(ctx, o)
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // spans that cannot be sent are in the log
	printRemoteAgent(ctx, a, po)
	a.Err.Linef("-- %s serves %s", cli.Clean(f.card), cli.Clean(strings.Join(f.Agents, ", ")))
	following, stop := context.WithCancel(ctx)
	var follow sync.WaitGroup
	follow.Go(func() { agent.Follow(following, client) })
	err = executors.Run(ctx, client, runner.ReportTurns(a, agent), o)
	stop()
	follow.Wait()
	return err
}

// printRemoteAgent prints the name of the remote agent. An agent that does not answer is no error:
// it may start later.
func printRemoteAgent(ctx context.Context, a *cli.App, o *a2a.Options) {
	card, err := a2a.FetchCard(ctx, o, "1.0")
	if err == nil && len(a2a.Spoken(card.Card)) == 0 {
		err = a2a.ErrNoInterface
	}
	var refused *parley.Error
	switch explained := explainError(err); {
	case err == nil:
		a.Err.Linef("-- the remote agent is %s", cli.Clean(card.Card.Name))
	case errors.As(explained, &refused) && exit.HintOf(explained) != "":
		a.Err.Linef("-- there is no card yet: %s; %s", cli.Clean(err.Error()), cli.Clean(exit.HintOf(explained)))
	default:
		a.Err.Linef("-- there is no card yet: %s", cli.Clean(err.Error()))
	}
}
