package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) tokenRevokeCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "end a token and those made with it, and print their ids",
		Long: `revoke ends a token of 'parley token list' and all that were made with it. Their sockets are closed and their streams end within a second.

To change a token: make a second, put it to use, and revoke the first.

With --data it writes into the log of a hub that is not running.`,
		Args: cobra.ExactArgs(1),
	}
	tokenDataFlag(c, &data)
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := givenData(c, data); err != nil {
			return err
		}
		return a.withTokens(ctx, data, openExisting, func(client parley.Client) error {
			return a.revokeToken(ctx, client, args[0])
		})
	})
}

func (a *app) revokeToken(ctx context.Context, client parley.Client, id string) error {
	r, err := call(ctx, a, client.RevokeToken, &parley.RevokeTokenParams{TokenID: id})
	if errors.Is(err, parley.ErrNotFound) {
		return withHint(err, "'parley token list' shows those that this token may revoke")
	}
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(r)
	}
	for _, id := range r.Revoked {
		a.out.line(clean(id))
	}
	return nil
}
