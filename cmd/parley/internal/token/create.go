// Package token has the command token, which creates, lists and revokes tokens.
//
//	root.AddCommand(token.NewCommand(app))
package token

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

type tokenFlags struct {
	data, agent                   string
	agents, scopes, conversations []string
	workspaces                    []string
	expires                       time.Duration
	admin                         bool
}

// NewCommand returns the command token.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{Use: "token", Short: "create, list and revoke tokens"}, newCreateCommand(a),
		newListCommand(a), newRevokeCommand(a))
}

func newCreateCommand(a *cli.App) *cobra.Command {
	var f tokenFlags
	c := &cobra.Command{
		Use:   "create",
		Short: "create a token and print it once",
		Long: `create creates a token. Over the network (PARLEY_URL, PARLEY_TOKEN) the new token has at
most the rights of your token: its ids, scopes and conversations are a subset, and it does not
expire later.

With --data it writes to the log of a stopped hub. Use this to create the first token.

  parley token create --admin --data DIR
  parley token create --agent clinic --conversations cnv_1 --expires 24h`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.agent, "agent", "", "participant id of the token (default: admin with --admin)")
	c.Flags().StringSliceVar(&f.agents, "agents", nil, "additional participant ids of the token")
	c.Flags().StringSliceVar(&f.scopes, "scopes", nil,
		"read, write, create, claim, approve, trace, admin (default: read,write,create,claim)")
	c.Flags().StringSliceVar(&f.conversations, "conversations", nil,
		"conversations that it may use (default: those of your token)")
	c.Flags().StringSliceVar(&f.workspaces, "workspaces", nil, "workspaces whose conversations it may read and "+
		"use as context: a subset of those of your token, or any for an admin (default: none)")
	c.Flags().DurationVar(&f.expires, "expires", 0,
		"lifetime, such as 2160h for 90 days (default: that of your token)")
	c.Flags().BoolVar(&f.admin, "admin", false, "scope admin: every call, as any participant")
	addDataFlag(c, &f.data)
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		if err := f.checkGiven(c.Flags()); err != nil {
			return err
		}
		return createAndPrint(ctx, a, f)
	})
}

// checkGiven checks the flags that were given. One that is there and says nothing, such as that of
// a variable that is not set, is refused: left out, it would mean the most that a token can have.
func (f tokenFlags) checkGiven(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.Contains(values, "") {
			err = exit.Usagef("--%s is empty: set a value or leave it out", flag.Name)
		}
	})
	if err == nil && flags.Changed("expires") && f.expires < time.Second {
		err = exit.Usagef("--expires %s: a token lasts 1s or longer", f.expires)
	}
	return err
}

func createAndPrint(ctx context.Context, a *cli.App, f tokenFlags) error {
	p, err := f.params()
	if err != nil {
		return err
	}
	r, err := Create(ctx, a, f.data, p)
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		_ = a.Out.JSON(r) // asked for below
	} else {
		a.Out.Line(r.Token)
	}
	if a.Out.WriteError() != nil {
		a.Err.Linef("token %s could not be shown: end it with '%s'", cli.Clean(r.TokenID), f.revokeCommand(r.TokenID))
		return nil // cli.Execute reports the failure
	}
	if a.Format == cli.FormatJSON {
		return nil
	}
	a.Err.Linef("token %s speaks as %s; it is shown only now", cli.Clean(r.TokenID),
		strings.Join(append([]string{p.AgentID}, p.Agents...), ", "))
	return nil
}

// revokeCommand is the command that ends the token that was made.
func (f tokenFlags) revokeCommand(id string) string {
	command := "parley token revoke " + id
	if f.data != "" {
		command += " --data " + cli.QuoteWord(f.data)
	}
	return cli.Clean(command)
}

func (f tokenFlags) params() (*parley.CreateTokenParams, error) {
	if f.admin && len(f.scopes) > 0 {
		return nil, exit.Usagef("--admin has all scopes: leave --scopes out")
	}
	p := &parley.CreateTokenParams{
		AgentID: f.agent, Agents: f.agents, Conversations: f.conversations, Workspaces: f.workspaces,
		ExpiresInMs: int64((f.expires + time.Millisecond - 1) / time.Millisecond), // never shorter than asked for
	}
	for _, s := range f.scopes {
		p.Scopes = append(p.Scopes, parley.Scope(s))
	}
	if f.admin {
		p.Scopes = []parley.Scope{parley.ScopeAdmin}
	}
	if f.admin && p.AgentID == "" {
		p.AgentID = "admin"
	}
	for _, name := range f.workspaces {
		if !parley.ValidWorkspace(name) {
			return nil, exit.Usagef("--workspaces %s: expected %s", cli.Clean(name), cli.WorkspaceForm)
		}
	}
	if p.AgentID == "" {
		return nil, exit.Usagef("whose token? --agent ID, or --admin")
	}
	return p, nil
}

// Create creates a token at a hub or, with data, in the log of a hub that is not running.
func Create(ctx context.Context, a *cli.App, data string, p *parley.CreateTokenParams) (r *parley.CreateTokenResult,
	err error) {
	err = withClient(ctx, a, data, journals.Open, func(client parley.Client) error {
		r, err = cli.Call(ctx, a, client.CreateToken, p)
		return err
	})
	return r, err
}

// withClient calls f with a client of the hub of the environment or, with data, of a hub that it
// opens without a server. The latter is an admin's client, because a user with write access to the
// files may do everything.
func withClient(ctx context.Context, a *cli.App, data string, open func(dir string) (journal.Journal, error),
	f func(parley.Client) error) (err error) {
	if data == "" {
		client, err := a.Dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		return f(client)
	}
	j, err := open(data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	h, err := hub.Open(j, &hub.Options{Version: cli.Version(), Peers: journals.PeersOf(j)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	client := h.Client(h.LocalPrincipal("admin", parley.ScopeAdmin))
	defer client.Close()
	return f(client)
}

// addDataFlag is --data of the commands that also work on the log of a hub that is not running.
func addDataFlag(c *cobra.Command, data *string) {
	c.Flags().StringVar(data, "data", "",
		"log of a stopped hub: a directory, or the URL of a log on NATS servers")
}
