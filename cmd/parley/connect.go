package main

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

// The environment that every command reads.
const (
	envURL   = "PARLEY_URL"
	envToken = "PARLEY_TOKEN"
	envAgent = "PARLEY_AGENT"

	defaultURL = "ws://127.0.0.1:7447/rpc"
)

func hubURL() string { return cmp.Or(os.Getenv(envURL), defaultURL) }

// asFlag is --as: whom to speak as.
func asFlag(c *cobra.Command, as *string) {
	c.Flags().StringVar(as, "as", "", "speak as this participant (default: $PARLEY_AGENT, else the token's first id)")
}

// dial connects to the hub that the environment names. The first connection must succeed within the timeout of a call.
func (a *app) dial(ctx context.Context, as string) (parley.Client, error) {
	ctx, cancel := a.within(ctx)
	defer cancel()
	client, err := sdk.Dial(ctx, hubURL(), &sdk.Options{
		Token:      os.Getenv(envToken),
		AgentID:    cmp.Or(as, os.Getenv(envAgent)),
		ClientName: "parley/" + version(),
	})
	if err != nil {
		return nil, timedOut(ctx, err)
	}
	return client, nil
}

// timedOut makes the error of a call whose time was up say so.
func timedOut(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errTimeout {
		return withHint(errTimeout, "no answer from "+hubURL()+" ("+clean(err.Error())+"); is a hub running there? see PARLEY_URL and --timeout")
	}
	return err
}

// call makes one call to the hub, bounded by the timeout.
func call[P, R any](ctx context.Context, a *app, do func(context.Context, P) (R, error), params P) (R, error) {
	ctx, cancel := a.within(ctx)
	defer cancel()
	r, err := do(ctx, params)
	return r, timedOut(ctx, err)
}
