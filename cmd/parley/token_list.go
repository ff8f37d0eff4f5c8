package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) tokenListCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "list",
		Short: "list the live tokens that the token may revoke, oldest first",
		Long: `list shows the tokens that are live and that the token of PARLEY_TOKEN may revoke: itself and those made with it; an admin's: all. No
secret is shown: the hub does not know any.

With --data it reads the log of a hub that is not running.`,
		Args: cobra.NoArgs,
	}
	tokenDataFlag(c, &data)
	return a.does(c, func(ctx context.Context, _ []string) error {
		if err := givenData(c, data); err != nil {
			return err
		}
		return a.withTokens(ctx, data, openExisting, func(client parley.Client) error {
			if a.format == formatJSON {
				return a.tokensJSON(ctx, client)
			}
			return a.tokensTable(ctx, client)
		})
	})
}

// givenData refuses --data of a variable that is not set: left out, it would mean a running hub.
func givenData(c *cobra.Command, data string) error {
	if c.Flags().Changed("data") && data == "" {
		return usagef("--data is empty: give it a value or leave it out")
	}
	return nil
}

// tokens pages through listTokens.
func (a *app) tokens(ctx context.Context, client parley.Client) iter.Seq2[parley.TokenInfo, error] {
	return rows(func(cursor string) ([]parley.TokenInfo, string, error) {
		page, err := call(ctx, a, client.ListTokens, &parley.ListTokensParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.Tokens, page.NextCursor, nil
	})
}

func (a *app) tokensJSON(ctx context.Context, client parley.Client) error {
	for t, err := range a.tokens(ctx, client) {
		if err != nil {
			return err
		}
		if err := a.out.json(t); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) tokensTable(ctx context.Context, client parley.Client) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSPEAKS AS\tSCOPES\tCONVERSATIONS\tWORKSPACES\tEXPIRES\tMADE BY\tMADE AT\tMADE WITH")
	for t, err := range a.tokens(ctx, client) {
		if err != nil {
			return err
		}
		expires := "never"
		if t.ExpiresAt != 0 {
			expires = t.ExpiresAt.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clean(t.TokenID), listed(t.Agents, ""), listed(t.Scopes, ""), listed(t.Conversations, "all"), listed(t.Workspaces, "none"),
			expires, clean(t.CreatedBy), t.CreatedAt, clean(t.Parent))
	}
	return w.Flush()
}

// listed gives the entries of a list with commas, or what stands for none.
func listed[S ~string](entries []S, none string) string {
	if len(entries) == 0 {
		return none
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = string(e)
	}
	return clean(strings.Join(texts, ","))
}
