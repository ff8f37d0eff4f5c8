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

// Run is a whole agent: it connects to the hub at PARLEY_URL, or to one of several there (see [URLs]), with the token PARLEY_TOKEN, and calls handle for each turn of the agent named, in
// every conversation where that has a seat. handle reads and speaks through t; see [parley.Turn]. When it returns nil and has not said a final message,
// the attempt was a silent one and the turn is tried again, as after an error or a panic; [Serve] can also pass a turn on.
//
// Run waits for a hub that is not there yet, comes back when a connection breaks, renews claims while handle works, and ends ctx of a turn that
// was lost. On SIGTERM, SIGINT or the end of ctx it takes no more turns, lets those under way finish for 10 s, gives back the others, and returns nil; the
// next signal ends the process at once. It returns earlier only with what no retry mends, such as ErrUnauthenticated. It logs
// to slog.Default.
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

// Serve is the general form of [Run]: any address, any [parley.Agent], and all options, of which nil ones are useful. It connects as [Dial] does, but
// waits for a hub that is not there, and is [executors.Run] from then on: signals are the caller's. When e has no Logger it takes that of o.
func Serve(ctx context.Context, url string, agent parley.Agent, o *Options, e *executors.Options) error {
	c, err := dialUntil(ctx, url, o)
	if ctx.Err() != nil && c == nil {
		return nil // it was told to end before it had begun
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

// dialUntil dials until the hub is there, it refuses, or ctx ends.
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
