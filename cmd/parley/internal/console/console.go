// Package console has the command console, which prints a link that signs in to the console of a
// hub.
//
//	root.AddCommand(console.NewCommand(app))
package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/console"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/methods"
)

// envBrowser is what opens links, where it is set.
const envBrowser = "BROWSER"

// consoleLink is what 'parley console' prints with -o json.
type consoleLink struct {
	URL         string `json:"url"`
	ExpiresInMs int64  `json:"expiresInMs"`
}

// NewCommand returns the command console.
func NewCommand(a *cli.App) *cobra.Command {
	var as string
	var open bool
	c := &cobra.Command{
		Use:   "console [ID]",
		Short: "print or open a sign-in link for the console",
		Long: `console makes a ticket and prints a link to the page of the hub, which signs in with it: as
whom PARLEY_TOKEN speaks, and with no more powers. Where an ID is given it leads to that
conversation. The link is good once, for 30 s: --open hands it to the browser of this machine at
once ($` + envBrowser + `,
else the one of the desktop).

The hub must serve the page: 'parley serve --dev' does, and 'parley serve --console'.`,
		Args: cobra.MaximumNArgs(1),
	}
	cli.AddAsFlag(c, &as)
	c.Flags().BoolVar(&open, "open", false, "open the link instead of printing it")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		link, err := makeConsoleLink(ctx, a, as, strings.Join(args, ""))
		switch {
		case err != nil:
			return err
		case open:
			return openLink(ctx, link.URL)
		case a.Format == cli.FormatJSON:
			return a.Out.JSON(link)
		}
		a.Out.Line(link.URL)
		return nil
	})
}

// makeConsoleLink asks the hub for a ticket, and for what the token may do, so that the page asks
// for the same. The link leads to a conversation, or to all of them where there is no id.
func makeConsoleLink(ctx context.Context, a *cli.App, as, conversation string) (*consoleLink, error) {
	ctx, cancel := a.WithTimeout(ctx)
	defer cancel()
	if err := cli.CheckEnvironment(); err != nil {
		return nil, err
	}
	v, err := connectConsole(ctx, as)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if err := checkConsole(ctx, v); err != nil {
		return nil, err
	}
	sign := &console.SignIn{AgentID: v.Hub.AgentID, Agents: v.Hub.Agents, Scopes: cli.Names(v.Hub.Scopes...)}
	if conversation != "" { // no link leads to a missing conversation
		if err := v.Call(ctx, methods.GetGuidance, parley.GetGuidanceParams{ConversationID: conversation},
			&parley.GetGuidanceResult{}); err != nil {
			return nil, cli.ExplainTimeout(ctx, err)
		}
		sign.To = "/c/" + url.PathEscape(conversation)
	}
	if rest, made := strings.CutPrefix(os.Getenv(cli.EnvToken), cli.TokenPrefix); made {
		id, _, _ := strings.Cut(rest, "_")
		own, err := v.FindToken(ctx, id)
		if err != nil {
			return nil, cli.ExplainTimeout(ctx, err)
		}
		if own != nil {
			sign.Workspaces, sign.Conversations = own.Workspaces, own.Conversations
		}
	}
	page := cli.NewRouteRequest(ctx, v.URL, console.Path).URL
	var ticket parley.CreateTicketResult
	if err := v.Call(ctx, methods.CreateTicket, parley.CreateTicketParams{Origin: page.Scheme + "://" + page.Host},
		&ticket); err != nil {
		return nil, cli.ExplainTimeout(ctx, err)
	}
	sign.Ticket = ticket.Ticket
	return &consoleLink{URL: console.Link(page.String(), sign), ExpiresInMs: ticket.ExpiresInMs}, nil
}

// connectConsole opens a socket to a hub and authenticates.
func connectConsole(ctx context.Context, as string) (*cli.HubSocket, error) {
	client, err := cli.NewHTTPClient()
	if err != nil {
		return nil, err
	}
	u, err := cli.ChooseHub(ctx, client)
	if err != nil {
		return nil, cli.ExplainTLS(err)
	}
	h := &cli.HubSocket{URL: u, Client: client}
	if err := h.Open(ctx); err != nil {
		return nil, cli.ExplainTLS(err)
	}
	if err := h.Authenticate(ctx, as, "parley console"); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// checkConsole refuses a hub that has no page to lead to.
func checkConsole(ctx context.Context, h *cli.HubSocket) error {
	status, _, err := h.GetRoute(ctx, console.Path)
	if err != nil {
		return cli.ExplainTLS(err)
	}
	if status != http.StatusOK {
		return exit.WithHint(fmt.Errorf("%w: the hub at %s has no console", parley.ErrNotFound, h.Address()),
			"start it with 'parley serve --console'")
	}
	return nil
}

// openLink hands a link to a browser, and does not wait for its end.
func openLink(ctx context.Context, link string) error {
	opener := strings.Fields(os.Getenv(envBrowser))
	switch {
	case len(opener) > 0:
	case runtime.GOOS == "windows":
		opener = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case runtime.GOOS == "darwin":
		opener = []string{"open"}
	default:
		opener = []string{"xdg-open"}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), opener[0], append(opener[1:], link)...)
	if err := cmd.Start(); err != nil {
		return exit.WithHint(fmt.Errorf("open the link: %w", err), "without --open it is printed; "+envBrowser+
			" names a program that opens links")
	}
	return cmd.Process.Release()
}
