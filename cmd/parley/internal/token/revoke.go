package token

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
)

func newRevokeCommand(a *cli.App) *cobra.Command {
	var data string
	var own bool
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "revoke a token and the tokens created with it, and print their ids",
		Long: `revoke ends a token of 'parley token list' and all tokens created with it. Their sockets
and streams are closed within a second.

To replace a token, create a second one, use it, and revoke the first. Tokens created with an admin
token are revoked with it. To replace an admin token, create the second one with --data while the
hub is stopped, so that it has no parent. --with-own is required to revoke a parent of the token in
use.

With --data it writes into the log of a hub that is not running.`,
		Args: cobra.ExactArgs(1),
	}
	addDataFlag(c, &data)
	c.Flags().BoolVar(&own, "with-own", false, "revoke it even if this ends the token in use")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		return withClient(ctx, a, data, journals.OpenExisting, func(client parley.Client) error {
			if data == "" && !own {
				if err := checkOwn(ctx, a, client, args[0]); err != nil {
					return err
				}
			}
			return revoke(ctx, a, client, args[0])
		})
	})
}

// checkOwn refuses to end a token from which the one in use comes: it would end with it, and with
// it whatever else there is.
func checkOwn(ctx context.Context, a *cli.App, client parley.Client, id string) error {
	own := ""
	if parts := strings.SplitN(os.Getenv(cli.EnvToken), "_", 3); len(parts) == 3 {
		own = parts[1]
	}
	parents := map[string]string{}
	for t, err := range listTokens(ctx, a, client) {
		if err != nil {
			return err
		}
		parents[t.TokenID] = t.Parent
	}
	ends := func(token string) bool {
		for token != "" && token != id {
			token = parents[token]
		}
		return token == id
	}
	if _, may := parents[id]; !may || own == "" || own == id || !ends(own) {
		return nil
	}
	n := 0
	for token := range parents {
		if ends(token) {
			n++
		}
	}
	return exit.WithHint(exit.Usagef("%s is what the token in use was made with: %s would end, that one among them",
		cli.Clean(id), cli.Count(int64(n), "token")),
		"make one without a parent with 'parley token create --data DIR' while no hub runs, or insist with --with-own")
}

func revoke(ctx context.Context, a *cli.App, client parley.Client, id string) error {
	r, err := cli.Call(ctx, a, client.RevokeToken, &parley.RevokeTokenParams{TokenID: id})
	if errors.Is(err, parley.ErrNotFound) {
		return exit.WithHint(err, "'parley token list' shows those that this token may revoke")
	}
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	for _, id := range r.Revoked {
		a.Out.Line(cli.Clean(id))
	}
	a.Err.Line(cli.Count(int64(len(r.Revoked)), "token") + " ended")
	return nil
}
