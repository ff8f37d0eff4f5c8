package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parleyhub/parley"
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

func (a *app) tokenCommand() *cobra.Command {
	return group(&cobra.Command{Use: "token", Short: "make, list and revoke tokens"}, a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var f tokenFlags
	c := &cobra.Command{
		Use:   "create",
		Short: "make a token and print it, once",
		Long: `create makes a token. Over the wire (PARLEY_URL, PARLEY_TOKEN) it may do no more than the token that makes it: its ids, scopes and
conversations are a subset, and it lasts no longer.

With --data it writes into the log of a hub that is not running: that is how a hub gets its first token.

  parley token create --admin --data DIR
  parley token create --agent clinic --conversations cnv_1 --expires 24h`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.agent, "agent", "", "the id that it speaks as (admin with --admin)")
	c.Flags().StringSliceVar(&f.agents, "agents", nil, "further ids that it may speak as")
	c.Flags().StringSliceVar(&f.scopes, "scopes", nil, "read, write, create, claim, approve, trace, admin (default: read,write,create,claim)")
	c.Flags().StringSliceVar(&f.conversations, "conversations", nil, "only these conversations (default: those of the token that makes it)")
	c.Flags().StringSliceVar(&f.workspaces, "workspaces", nil, "workspaces whose conversations it may read, and bring into context: of those of the token that makes it, any for an admin (default: none)")
	c.Flags().DurationVar(&f.expires, "expires", 0, "how long it lasts, in hours and less: 2160h is 90 days (default: as long as the token that makes it)")
	c.Flags().BoolVar(&f.admin, "admin", false, "scope admin: everything, as anybody")
	tokenDataFlag(c, &f.data)
	return a.does(c, func(ctx context.Context, _ []string) error {
		if err := f.given(c.Flags()); err != nil {
			return err
		}
		return a.createToken(ctx, f)
	})
}

// given checks the flags that were given. One that is there and says nothing, such as that of a variable that is not set, is refused:
// left out, it would mean the most that a token can have.
func (f tokenFlags) given(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.Contains(values, "") {
			err = usagef("--%s is empty: give it a value or leave it out", flag.Name)
		}
	})
	if err == nil && flags.Changed("expires") && f.expires < time.Second {
		err = usagef("--expires %s: a token lasts 1s or longer", f.expires)
	}
	return err
}

func (a *app) createToken(ctx context.Context, f tokenFlags) error {
	p, err := f.params()
	if err != nil {
		return err
	}
	r, err := a.makeToken(ctx, f.data, p)
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		_ = a.out.json(r) // asked for below
	} else {
		a.out.line(r.Token)
	}
	if a.out.failure() != nil {
		a.err.linef("token %s could not be shown: end it with '%s'", clean(r.TokenID), f.undo(r.TokenID))
		return nil // run tells of the failure
	}
	if a.format == formatJSON {
		return nil
	}
	a.err.linef("token %s speaks as %s; it is shown only now", clean(r.TokenID), strings.Join(append([]string{p.AgentID}, p.Agents...), ", "))
	return nil
}

// undo is the command that ends the token that was made.
func (f tokenFlags) undo(id string) string {
	command := "parley token revoke " + id
	if f.data != "" {
		command += " --data " + shellWord(f.data)
	}
	return clean(command)
}

func (f tokenFlags) params() (*parley.CreateTokenParams, error) {
	if f.admin && len(f.scopes) > 0 {
		return nil, usagef("--admin has all scopes: leave --scopes out")
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
			return nil, usagef("--workspaces %s: expected %s", clean(name), workspaceName)
		}
	}
	if p.AgentID == "" {
		return nil, usagef("whose token? --agent ID, or --admin")
	}
	return p, nil
}

func (a *app) makeToken(ctx context.Context, data string, p *parley.CreateTokenParams) (r *parley.CreateTokenResult, err error) {
	err = a.withTokens(ctx, data, openData, func(client parley.Client) error {
		r, err = call(ctx, a, client.CreateToken, p)
		return err
	})
	return r, err
}

// withTokens calls f with a client of the hub that the environment names or, with data, of one that it opens without a door. Whoever may
// write the files may do everything, so that is an admin's.
func (a *app) withTokens(ctx context.Context, data string, open func(dir string) (journal.Journal, error), f func(parley.Client) error) (err error) {
	if data == "" {
		client, err := a.dial(ctx, "")
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
	h, err := hub.Open(j, &hub.Options{Version: version(), Peers: peersOf(j)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	client := h.Client(h.LocalPrincipal("admin", parley.ScopeAdmin))
	defer client.Close()
	return f(client)
}

// tokenDataFlag is --data of the commands that also work on the log of a hub that is not running.
func tokenDataFlag(c *cobra.Command, data *string) {
	c.Flags().StringVar(data, "data", "", "log of a hub that is not running: a directory, or the address of one on NATS servers")
}
