package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) readyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ready",
		Short: "say whether a hub takes reads and writes; for probes",
		Long: `ready asks /readyz of the hub that PARLEY_URL names, and needs no token. The exit code is 0 when it is ready and 6 when it is not. It sends no
secret, so it takes any certificate from a loopback address.`,
		Args: cobra.NoArgs,
	}
	return a.does(c, func(ctx context.Context, _ []string) error { return a.ready(ctx) })
}

func (a *app) ready(ctx context.Context) error {
	ctx, cancel := a.within(ctx)
	defer cancel()
	u, err := parseHubURL()
	if err != nil {
		return err
	}
	client, err := hubHTTPClient()
	if err != nil {
		return err
	}
	if isLoopback(u.Hostname()) {
		client.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	}
	resp, err := client.Do(plainRequest(ctx, u, "/readyz"))
	if err != nil {
		return explainTLS(timedOut(ctx, fmt.Errorf("%w: %w", parley.ErrUnavailable, err)))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	if err != nil {
		return timedOut(ctx, fmt.Errorf("%w: %w", parley.ErrUnavailable, err))
	}
	said := strings.TrimSpace(string(text))
	if resp.StatusCode != http.StatusOK || said != "ok" {
		return withHint(fmt.Errorf("%w: /readyz says %d %s", parley.ErrUnavailable, resp.StatusCode, said), "'parley doctor' tells more")
	}
	if a.format == formatJSON {
		return a.out.json(map[string]bool{"ready": true})
	}
	a.out.line("ready")
	return nil
}
