// Package a2a has the command a2a, which speaks the Agent2Agent protocol with remote agents: probe
// and invite. Package serve has the other direction.
//
//	root.AddCommand(a2a.NewCommand(app))
package a2a

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/serve"
	"github.com/parleyhub/parley/executors/a2a"
	"github.com/parleyhub/parley/internal/egress"
)

// NewCommand returns the command a2a.
func NewCommand(a *cli.App) *cobra.Command {
	c := cli.NewGroup(&cobra.Command{
		Use:   "a2a",
		Short: "connect agents over the Agent2Agent (A2A) protocol",
		Long: `a2a speaks the Agent2Agent protocol (A2A) 1.0 and 0.3, by JSON-RPC and by REST. 'serve' shows agents
of a hub. 'probe' shows the offers of a remote agent, and whether it answers. 'invite' puts it on a
seat in conversations of the hub. 'parley a2a --url ws://...', with flags and no command, is serve.
See docs/guides/a2a.md.`,
	}, serve.NewA2ACommand(a), newProbeCommand(a), newInviteCommand(a))
	serveWithFlags(a, c)
	return c
}

// serveWithFlags has the group itself take the flags of serve: with one of them it serves, as
// parley mcp does, and else it is help.
func serveWithFlags(a *cli.App, c *cobra.Command) {
	var f serve.A2AFlags
	f.AddTo(c)
	c.Flags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true }) // the help of serve lists them
	help := c.RunE
	a.SetRun(c, func(ctx context.Context, args []string) error {
		serves := false
		c.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { serves = serves || flag.Changed })
		if !serves {
			return help(c, args)
		}
		return serve.RunA2A(ctx, a, &f)
	})
}

// peerFlags say how a remote agent is reached.
type peerFlags struct {
	tokenFile, header     string
	origins, allowPrivate []string
}

const peerHelp = `A token for the remote agent is read from $` + cli.EnvA2AToken +
	` or --token-file, and goes to the origin of the card (scheme, host and port) and to those of --token-origin only.

Private addresses in cards, and names that resolve to them, are refused unless --allow-private
allows them or URL has the same address. If URL is on this machine, all addresses of this machine
are allowed.`

func (f *peerFlags) addTo(c *cobra.Command) {
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "FILE with the token for the remote agent (default: $"+
		cli.EnvA2AToken+")")
	c.Flags().StringVar(&f.header, "token-header", "",
		"header for the token (default: Authorization, as a bearer token)")
	c.Flags().StringSliceVar(&f.origins, "token-origin", nil,
		"additional origin to send the token to, such as https://api.example.com; may be repeated")
	c.Flags().StringSliceVar(&f.allowPrivate, "allow-private", nil,
		"private address range to allow, such as 10.0.0.0/8, or all; may be repeated")
}

// options returns the options of a client of the remote agent at card.
func (f *peerFlags) options(card string) (*a2a.Options, error) {
	u, err := url.Parse(card)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, exit.Usagef("%s is no address of an agent or its card: expected one such as https://agent.example.com",
			cli.Clean(card))
	}
	if u.User != nil {
		return nil, exit.WithHint(exit.Usagef("the address has a user or password in it"), "a token goes into "+
			cli.EnvA2AToken)
	}
	allowed, err := egress.ParseAllowed(append(f.allowPrivate, ownAddresses(u.Hostname())...))
	if err != nil {
		return nil, exit.Usagef("--allow-private: %w", err)
	}
	guard := &egress.Options{AllowPrivate: allowed, Timeout: -1, MaxBody: -1} // executors/a2a bounds both
	if err := egress.Check(card, guard); err != nil {
		return nil, explainError(exit.Usage(err))
	}
	o := &a2a.Options{CardURL: card, HTTP: egress.NewClient(guard), Header: f.header, Origins: f.origins}
	if o.Token, err = f.token(); err != nil {
		return nil, err
	}
	if f.header != "" && (http.CanonicalHeaderKey(f.header) == "" || strings.ContainsAny(f.header, " :\r\n\t")) {
		return nil, exit.Usagef("--token-header %s: expected the name of a header", cli.Clean(f.header))
	}
	return o, nil
}

// ownAddresses are those of this machine, if host is one of them: who names it means it.
func ownAddresses(host string) []string {
	if cli.IsLoopback(host) {
		return []string{"127.0.0.0/8", "::1"}
	}
	if net.ParseIP(host) != nil {
		return []string{host}
	}
	return nil
}

// token reads the credentials. They are never in the command line, which others on the machine can
// read.
func (f *peerFlags) token() (string, error) {
	if f.tokenFile == "" {
		return strings.TrimSpace(os.Getenv(cli.EnvA2AToken)), nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", exit.Usagef("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", exit.Usagef("--token-file %s: the file is empty", cli.Clean(f.tokenFile))
	}
	return token, nil
}

// explainError makes the error of a remote agent one of the program, with what to do next.
func explainError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, egress.ErrRefused):
		return exit.WithHint(err, "--allow-private allows ranges of addresses that are not public")
	case errors.Is(err, a2a.ErrCredentials):
		return exit.WithHint(parley.Refuse(parley.ErrUnauthenticated, err.Error(), ""), "set "+cli.EnvA2AToken+
			" to a token of the remote agent; --token-origin names who else may have it")
	case errors.Is(err, a2a.ErrUnreachable), errors.Is(err, a2a.ErrMaxWait):
		return exit.WithHint(parley.Refuse(parley.ErrUnavailable, err.Error(), ""), "is an agent running there?")
	}
	var status *a2a.StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return exit.WithHint(parley.Refuse(parley.ErrNotFound, err.Error(), ""), "a card lies at "+a2a.CardPaths[0]+
			" below the address of an agent")
	}
	return err
}
