package serve

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/console"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/rpc"
)

// consoleAdapter serves the page for people. The page calls the hub by the door that everybody
// uses.
type consoleAdapter struct{}

var _ adapter = consoleAdapter{}

func (consoleAdapter) handlers() (map[string]*rpc.Protocol, map[string]http.Handler) {
	page := console.Handler(console.Options{})
	return nil, map[string]http.Handler{console.Path: page, console.Path + "/": page}
}

func (consoleAdapter) open(http.Handler, *slog.Logger) {}

func (consoleAdapter) stop() error { return nil }

func (consoleAdapter) close() error { return nil }

// devLinkLife is how long the link of a dev hub is good: it is followed by a person.
const devLinkLife = 15 * time.Minute

// consoleLink returns a link that signs in to the console of a dev hub with its token, or ""
// without a console or such a token.
func (s *Server) consoleLink(c *config.Loaded, token string) (string, error) {
	if token == "" || !c.ServesConsole(true) {
		return "", nil
	}
	root, err := s.Hub.Authenticate(context.Background(), token, "")
	if err != nil {
		return "", err
	}
	ticket, err := s.door.Ticket(root, devLinkLife)
	if err != nil {
		return "", err
	}
	return console.Link(pageURL(s.URL),
		&console.SignIn{Ticket: ticket, AgentID: root.AgentID, Scopes: []string{string(parley.ScopeAdmin)}}), nil
}

// pageURL returns the address of the page of the hub with this socket address: beside its /rpc.
func pageURL(socket string) string {
	return "http" + strings.TrimPrefix(strings.TrimSuffix(socket, "/rpc"), "ws") + console.Path
}
