package main

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
)

// envBrowser is what opens links, where it is set.
const envBrowser = "BROWSER"

// consoleLink is what 'parley console' prints with -o json.
type consoleLink struct {
	URL         string `json:"url"`
	ExpiresInMs int64  `json:"expiresInMs"`
}

func (a *app) consoleCommand() *cobra.Command {
	var as string
	var open bool
	c := &cobra.Command{
		Use:   "console [ID]",
		Short: "print a link that signs in to the console of the hub; or open it",
		Long: `console makes a ticket and prints a link to the page of the hub, which signs in with it: as whom PARLEY_TOKEN speaks, and with no more powers. Where an ID is given it leads to that
conversation. The link is good once, for 30 s: --open hands it to the browser of this machine at once ($` + envBrowser + `, else the one of the desktop).

The hub must serve the page: 'parley serve --dev' does, and 'parley serve --console'.`,
		Args: cobra.MaximumNArgs(1),
	}
	asFlag(c, &as)
	c.Flags().BoolVar(&open, "open", false, "open the link instead of printing it")
	return a.does(c, func(ctx context.Context, args []string) error {
		link, err := a.makeConsoleLink(ctx, as, strings.Join(args, ""))
		switch {
		case err != nil:
			return err
		case open:
			return openLink(ctx, link.URL)
		case a.format == formatJSON:
			return a.out.json(link)
		}
		a.out.line(link.URL)
		return nil
	})
}

// makeConsoleLink asks the hub for a ticket, and for what the token may do, so that the page asks for the same. The link leads to a conversation, or to all of them where there is no id.
func (a *app) makeConsoleLink(ctx context.Context, as, conversation string) (*consoleLink, error) {
	ctx, cancel := a.within(ctx)
	defer cancel()
	if err := checkEnv(); err != nil {
		return nil, err
	}
	v, err := connectConsole(ctx, as)
	if err != nil {
		return nil, err
	}
	defer v.closeSocket()
	if err := checkConsole(ctx, v); err != nil {
		return nil, err
	}
	sign := &console.SignIn{AgentID: v.hub.AgentID, Agents: v.hub.Agents, Scopes: names(v.hub.Scopes...)}
	if conversation != "" { // nobody is led to what is not there
		if err := v.call(ctx, parley.MethodGetGuidance, parley.GetGuidanceParams{ConversationID: conversation}, &parley.GetGuidanceResult{}); err != nil {
			return nil, timedOut(ctx, err)
		}
		sign.To = "/c/" + url.PathEscape(conversation)
	}
	if rest, made := strings.CutPrefix(os.Getenv(envToken), tokenPrefix); made {
		id, _, _ := strings.Cut(rest, "_")
		own, err := v.findToken(ctx, id)
		if err != nil {
			return nil, timedOut(ctx, err)
		}
		if own != nil {
			sign.Workspaces, sign.Conversations = own.Workspaces, own.Conversations
		}
	}
	page := plainRequest(ctx, v.url, console.Path).URL
	var ticket parley.CreateTicketResult
	if err := v.call(ctx, parley.MethodCreateTicket, parley.CreateTicketParams{Origin: page.Scheme + "://" + page.Host}, &ticket); err != nil {
		return nil, timedOut(ctx, err)
	}
	sign.Ticket = ticket.Ticket
	return &consoleLink{URL: console.Link(page.String(), sign), ExpiresInMs: ticket.ExpiresInMs}, nil
}

// connectConsole opens a socket to a hub and authenticates.
func connectConsole(ctx context.Context, as string) (*hubSocket, error) {
	client, err := hubHTTPClient()
	if err != nil {
		return nil, err
	}
	u, err := chooseHub(ctx, client)
	if err != nil {
		return nil, explainTLS(err)
	}
	h := &hubSocket{url: u, client: client}
	if err := h.openSocket(ctx); err != nil {
		return nil, explainTLS(err)
	}
	if err := h.authenticate(ctx, as, "parley console"); err != nil {
		h.closeSocket()
		return nil, err
	}
	return h, nil
}

// checkConsole refuses a hub that has no page to lead to.
func checkConsole(ctx context.Context, h *hubSocket) error {
	status, _, err := h.ask(ctx, console.Path)
	if err != nil {
		return explainTLS(err)
	}
	if status != http.StatusOK {
		return withHint(fmt.Errorf("%w: the hub at %s has no console", parley.ErrNotFound, h.where()), "start it with 'parley serve --console'")
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
		return withHint(fmt.Errorf("open the link: %w", err), "without --open it is printed; "+envBrowser+" names a program that opens links")
	}
	return cmd.Process.Release()
}
