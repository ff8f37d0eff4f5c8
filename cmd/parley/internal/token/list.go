package token

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
)

func newListCommand(a *cli.App) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "list",
		Short: "list the active tokens that you may revoke, oldest first",
		Long: `list shows the active tokens that PARLEY_TOKEN may revoke: itself and the tokens created
with it, or all tokens for an admin. It shows no secrets, because the hub stores only hashes.

With --data it reads the log of a hub that is not running.`,
		Args: cobra.NoArgs,
	}
	addDataFlag(c, &data)
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		return withClient(ctx, a, data, journals.OpenExisting, func(client parley.Client) error {
			if a.Format == cli.FormatJSON {
				return printJSON(ctx, a, client)
			}
			return printTable(ctx, a, client)
		})
	})
}

// listTokens pages through listTokens.
func listTokens(ctx context.Context, a *cli.App, client parley.Client) iter.Seq2[parley.TokenInfo, error] {
	return cli.Paginate(func(cursor string) ([]parley.TokenInfo, string, error) {
		page, err := cli.Call(ctx, a, client.ListTokens, &parley.ListTokensParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return page.Tokens, page.NextCursor, nil
	})
}

func printJSON(ctx context.Context, a *cli.App, client parley.Client) error {
	for t, err := range listTokens(ctx, a, client) {
		if err != nil {
			return err
		}
		if err := a.Out.JSON(t); err != nil {
			return err
		}
	}
	return nil
}

func printTable(ctx context.Context, a *cli.App, client parley.Client) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSPEAKS AS\tSCOPES\tCONVERSATIONS\tWORKSPACES\tEXPIRES\tMADE BY\tMADE AT\tMADE WITH")
	for t, err := range listTokens(ctx, a, client) {
		if err != nil {
			return err
		}
		expires := "never"
		if t.ExpiresAt != 0 {
			expires = t.ExpiresAt.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cli.Clean(t.TokenID), joinList(t.Agents, ""),
			joinList(t.Scopes, ""), joinList(t.Conversations, "all"), joinList(t.Workspaces, "none"),
			expires, cli.Clean(t.CreatedBy), t.CreatedAt, cli.Clean(t.Parent))
	}
	return w.Flush()
}

// joinList returns the entries of a list with commas, or a word for an empty list.
func joinList[S ~string](entries []S, none string) string {
	if len(entries) == 0 {
		return none
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = string(e)
	}
	return cli.Clean(strings.Join(texts, ","))
}
