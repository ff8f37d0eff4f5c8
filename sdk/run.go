package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// Run runs an agent. It connects to the hub at PARLEY_URL with the token PARLEY_TOKEN, and calls
// handle for each turn of the agent, in every conversation in which the agent has a seat. [URLs]
// has the form of PARLEY_URL. handle reads and posts through t. If it returns nil without a final
// message, the attempt counts as silent, and the turn is offered again, as after an error or a
// panic. An agent of [Serve] can also yield a turn.
//
// Run waits for a hub that is not reachable, reconnects, renews claims while handle works, and ends
// the ctx of a turn whose claim is lost. On SIGTERM, SIGINT or the end of ctx, it accepts no more
// turns. Turns in progress have 10 s to finish; Run releases the others and returns nil. A second
// signal ends the process at once.
//
// Run returns earlier only with an error that a retry cannot repair, such as ErrUnauthenticated. It
// logs to slog.Default.
func Run(ctx context.Context, agent string, handle func(ctx context.Context, t *parley.Turn) error) error {
	url, err := environment("PARLEY_URL", "the hub's address, such as "+DefaultURL)
	if err != nil {
		return err
	}
	token, err := environment("PARLEY_TOKEN", "a token that may speak as "+agent+", with the scopes read, write and claim")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on a signal does what it does to any process
	o := &Options{Token: token, AgentID: agent, ClientName: agent, Logger: slog.Default()}
	return Serve(ctx, url, parley.AgentFunc(func(ctx context.Context, t *parley.Turn) (parley.TurnOutcome, error) {
		return parley.TurnPosted, handle(ctx, t)
	}), o, nil)
}

func environment(name, what string) (string, error) {
	if v := os.Getenv(name); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("%s is not set: expected %s", name, what)
}

// Serve runs an agent with an address and options. It connects as [Dial] does, and also waits for a
// hub that is not reachable. After that it is [executors.Run]. It does not handle signals. o and e
// may be nil. If e has no Logger, Serve uses that of o.
func Serve(ctx context.Context, url string, agent parley.Agent, o *Options, e *executors.Options) error {
	c, err := dialUntil(ctx, url, o)
	if ctx.Err() != nil && c == nil {
		return nil // ctx ended before the first connection
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	var x executors.Options
	if e != nil {
		x = *e
	}
	if x.Logger == nil {
		x.Logger = c.o.Logger
	}
	return executors.External(c, agent, &x).Run(ctx)
}

// dialUntil dials until the hub accepts or refuses the client, or ctx ends.
func dialUntil(ctx context.Context, url string, o *Options) (*Client, error) {
	opts := o.withDefaults(1)
	pauses := opts.newBackoff()
	for {
		c, err := Dial(ctx, url, o)
		if err == nil || !errors.Is(err, parley.ErrUnavailable) {
			return c, err
		}
		wait := min(pauses.NextBackOff(), opts.MaxBackoff)
		opts.Logger.Warn("the hub is not there; tried again", "error", err, "in", wait.Round(time.Millisecond))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
