package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// NewReadyCommand returns the command ready.
func NewReadyCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "ready",
		Short: "check whether a hub is ready, for health probes",
		Long: `ready asks /readyz of the hub that PARLEY_URL names, and needs no token. The exit code is 0 if it is
ready and 6 if it is not. It sends no secret, so it accepts any certificate from a loopback address.
If PARLEY_URL names several hubs, it is 0 if one of them is ready, and stderr has the faults of the
others.`,
		Args: cobra.NoArgs,
	}
	return a.SetRun(c, func(ctx context.Context, _ []string) error { return ready(ctx, a) })
}

func ready(ctx context.Context, a *cli.App) error {
	ctx, cancel := a.WithTimeout(ctx)
	defer cancel()
	all, err := cli.ParseHubURLs()
	if err != nil {
		return err
	}
	found := make([]error, len(all))
	var asking sync.WaitGroup
	for i, u := range all {
		asking.Go(func() { found[i] = readyAt(ctx, u) })
	}
	asking.Wait()
	if !slices.Contains(found, nil) {
		return found[0]
	}
	for i, err := range found {
		if err != nil {
			a.Err.Line("-- " + cli.Clean(all[i].Redacted()+" is not ready: "+err.Error()))
		}
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(map[string]bool{"ready": true})
	}
	a.Out.Line("ready")
	return nil
}

// readyAt says why a hub is not ready, or nil.
func readyAt(ctx context.Context, u *url.URL) error {
	client, err := cli.NewHTTPClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	if cli.IsLoopback(u.Hostname()) {
		client.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	}
	status, said, err := cli.GetRoute(ctx, client, u, "/readyz")
	if err != nil {
		return cli.ExplainTLS(cli.ExplainTimeout(ctx, fmt.Errorf("%w: %w", parley.ErrUnavailable, err)))
	}
	if status != http.StatusOK || said != "ok" {
		return exit.WithHint(fmt.Errorf("%w: /readyz says %d %s", parley.ErrUnavailable, status, said),
			"'parley doctor' shows more")
	}
	return nil
}
