package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/a2a"
)

type a2aInviteFlags struct {
	programFlags
	peer    peerFlags
	card    string
	maxWait time.Duration
}

func (a *app) a2aInviteCommand() *cobra.Command {
	var f a2aInviteFlags
	c := &cobra.Command{
		Use:   "invite --agent ID --card URL",
		Short: "give an agent elsewhere a seat: its turns are served over A2A",
		Long: `invite runs the turns of an agent of the hub by sending them to a remote agent. URL is its card, or the address below which that lies. On each turn everything that
others have said since its last one goes out as one message, and what the remote agent answers is said. A task that needs input waits for the next turn; one that has failed
is said so; when the turn is canceled or the conversation closed, it is canceled over there. What is open is in the log: invite can be stopped and started at any time.

` + peerHelp + `

One line about each turn goes to stderr, or with -o json an object to stdout. It goes on until a signal ends it. Any number of processes may serve the same agent.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.card, "card", "", "URL of the card, or of the agent (required)")
	c.Flags().DurationVar(&f.maxWait, "max-wait", a2a.DefaultMaxWait, "how long the remote agent may take for a turn; the conversation bounds it too")
	f.programFlags.addTurns(c)
	f.peer.add(c)
	return a.does(c, func(ctx context.Context, _ []string) error { return a.a2aInvite(ctx, &f) })
}

func (a *app) a2aInvite(ctx context.Context, f *a2aInviteFlags) error {
	switch {
	case f.card == "":
		return usagef("--card: expected the URL of a card")
	case f.maxWait <= 0:
		return usagef("--max-wait %s: expected more than 0", f.maxWait)
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	po, err := f.peer.options(f.card)
	if err != nil {
		return err
	}
	po.MaxWait, po.Logger = f.maxWait, slog.New(executorLog{a: a})
	agent, err := a2a.New(po)
	if err != nil {
		return asUsage(err)
	}
	o.Logger, o.Grace = po.Logger, a2a.AbandonWait
	n := &notices{}
	n.to(func(text string) { a.err.line("-- " + text) })
	client, err := a.dialTelling(ctx, f.agents[0], n)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, told, err := f.tell(ctx, o)
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // what cannot be told is in the log
	a.greet(ctx, po)
	a.err.linef("-- %s serves %s", clean(f.card), clean(strings.Join(f.agents, ", ")))
	following, stop := context.WithCancel(ctx)
	var follow sync.WaitGroup
	follow.Go(func() { agent.Follow(following, client) })
	err = executors.Run(ctx, client, a.told(agent), o)
	stop()
	follow.Wait()
	return err
}

// greet tells who is there. Nobody is no reason to end: it may come.
func (a *app) greet(ctx context.Context, o *a2a.Options) {
	card, err := a2a.FetchCard(ctx, o, "1.0")
	if err == nil && len(a2a.Spoken(card.Card)) == 0 {
		err = a2a.ErrNoInterface
	}
	var refused *parley.Error
	switch explained := explainPeer(err); {
	case err == nil:
		a.err.linef("-- the remote agent is %s", clean(card.Card.Name))
	case errors.As(explained, &refused) && hintOf(explained) != "":
		a.err.linef("-- there is no card yet: %s; %s", clean(err.Error()), clean(hintOf(explained)))
	default:
		a.err.linef("-- there is no card yet: %s", clean(err.Error()))
	}
}
