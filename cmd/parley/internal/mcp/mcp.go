// Package mcp has the command mcp, which serves the Model Context Protocol on stdin and stdout.
//
//	root.AddCommand(mcp.NewCommand(app))
package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/mcpinstall"
)

type flags struct {
	as        string
	readOnly  bool
	toolsets  []string
	maxWait   time.Duration
	telemetry cli.TelemetryFlags
}

// NewCommand returns the command mcp.
func NewCommand(a *cli.App) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "mcp",
		Short: "serve the Model Context Protocol to an IDE on stdin and stdout",
		Long: `mcp is an MCP server for a program such as an IDE. The program starts it, and it serves
the Model Context Protocol on stdin and stdout until stdin ends. Its log goes to stderr. It calls
the hub of $PARLEY_URL with $PARLEY_TOKEN, so the program has the rights of the token. The hub may
start later and restart without loss.

  parley mcp install --client claude-code    prints what the program's configuration needs

A hub with --mcp (parley serve --mcp) serves the same at /mcp over HTTP.`,
		Args: cobra.NoArgs,
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().BoolVar(&f.readOnly, "read-only", false, "serve only read-only tools")
	c.Flags().StringSliceVar(&f.toolsets, "toolsets", nil, "tool sets to serve: conversations, agents, approvals "+
		"(default: all)")
	c.Flags().DurationVar(&f.maxWait, "max-wait", mcp.DefaultMaxWait,
		"longest wait of one call; clients known to wait longer may do so")
	f.telemetry.AddTo(c)
	a.SetRun(c, func(ctx context.Context, _ []string) error { return serve(ctx, a, &f) })
	c.AddCommand(mcpinstall.NewCommand(a))
	return c
}

func serve(ctx context.Context, a *cli.App, f *flags) error {
	sets, err := parseToolsets(f.toolsets)
	if err != nil {
		return err
	}
	if f.maxWait < time.Second || f.maxWait > time.Hour {
		return exit.Usagef("--max-wait %s: expected 1s to 1h", f.maxWait)
	}
	ctx, told, err := f.telemetry.Open(ctx, "parley-mcp", slog.New(slog.NewTextHandler(a.Err, nil)))
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // spans that cannot be sent are in the log
	n := &cli.ConnectionNotices{}
	n.SendTo(func(text string) { a.Err.Line("-- " + text) })
	d := &dialer{dial: func(ctx context.Context) (parley.Client, error) { return a.DialNotifying(ctx, f.as, n) },
		turn: make(chan struct{}, 1)}
	defer d.close()
	if _, _, err := d.connect(ctx, nil); err != nil {
		if !errors.Is(err, parley.ErrUnavailable) {
			return err
		}
		a.Err.Line("-- " + cli.Clean(err.Error()) + "; it is tried again with each call")
	}
	if in, ok := a.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		a.Err.Line("-- this waits for a program that speaks the Model Context Protocol; 'parley mcp install' shows how to " +
			"configure one")
	}
	s := mcp.NewServer(&mcp.Options{
		Connect: d.connect, Version: cli.Version(), ReadOnly: f.readOnly, Toolsets: sets, MaxWait: f.maxWait,
		Logger: slog.New(slog.DiscardHandler),
	})
	defer s.Close()
	lines := &lineFilter{in: bufio.NewReader(a.In), answers: a.Out, refused: func() {
		a.Err.Line("-- stdin has a line that is no message of the Model Context Protocol; it is refused")
	}}
	err = s.Run(ctx, drainingTransport{&protocol.IOTransport{Reader: lines, Writer: nopCloser{a.Out}}})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("stdin: %w", err)
	case lines.bad.Load() > 0 && lines.good.Load() == 0:
		return exit.WithHint(errors.New("stdin: there was no message in it"), "mcp takes messages of the Model Context "+
			"Protocol, one a line; 'parley mcp install' shows how to configure a program")
	}
	return nil // a signal or the end of stdin is how it ends
}

// dialer returns the only client of a program. If the hub was away at the start, each call dials
// again.
type dialer struct {
	dial func(context.Context) (parley.Client, error)
	turn chan struct{} // held while client is looked at

	client parley.Client // nil before the first connection
}

func (d *dialer) connect(ctx context.Context, _ *protocol.RequestExtra) (parley.Client, func(), error) {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-d.turn }()
	if d.client == nil {
		client, err := d.dial(ctx)
		if errors.Is(err, exit.ErrTimeout) {
			err = parley.Refuse(parley.ErrUnavailable, "no answer from "+cli.HubURL(), "")
		}
		if err != nil {
			return nil, nil, err
		}
		d.client = client
	}
	return d.client, func() {}, nil
}

// close ends the client. No call is under way.
func (d *dialer) close() {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	if d.client != nil {
		_ = d.client.Close() // nothing is under way
	}
}

func parseToolsets(names []string) ([]mcp.Toolset, error) {
	var sets []mcp.Toolset
	for _, name := range names {
		set := mcp.Toolset(strings.TrimSpace(name))
		if !slices.Contains(mcp.Toolsets, set) {
			return nil, exit.Usagef("--toolsets %s: expected conversations, agents or approvals", cli.Clean(name))
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// nopCloser is a writer without an effect of Close.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
