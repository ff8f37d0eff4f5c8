// Package admission decides who may enter a hub over the network. It owns the state of the door:
//
//	Origins      the hosts and origins that requests may name
//	Controller   addresses, tokens and tickets, and the delay of answers to bad logins
//	Sockets      the WebSockets without a token, and the Listener for connections without one
//	RateLimiter  the writes and streams of each account
//	Audit        the log of grants, refusals and revocations
//
// It serves no path and knows no call. A caller asks it in this order:
//
//	err := c.CheckOrigin(r)
//	p, err := c.Authenticate(r) // or AuthenticateWithTicket; p is nil if r has no token
//	release, err := c.Rates.OpenStream(p)
package admission

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// RetryMs is when a client may try again after a refusal for lack of room, or because the hub stops.
const RetryMs = 1000

// The refusals of a door that do not depend on the request.
var (
	ErrStopping = &parley.Error{Err: parley.ErrUnavailable, Message: "the hub is about to stop", RetryAfterMs: RetryMs}
	ErrExpired  = parley.Refuse(parley.ErrUnauthenticated, ExpiredReason, "a fresh token")
	ErrRevoked  = parley.Refuse(parley.ErrUnauthenticated, RevokedReason, "another token")
)

// The reasons for the end of connections after the end of their token.
const (
	ExpiredReason = "the token has expired"
	RevokedReason = "the token was revoked"
)

// TooMany returns the refusal of a request that would exceed a limit of the server.
func TooMany(what string) error {
	return &parley.Error{
		Err: parley.ErrUnavailable, Message: "the hub has too many " + what, RetryAfterMs: RetryMs,
	}
}

// Hub verifies tokens. *hub.Hub implements it.
type Hub interface {
	Authenticate(ctx context.Context, token, agentID string) (*hub.Principal, error)
	Valid(p *hub.Principal) error
	NewSecret() string
	Done() <-chan struct{}
}

// Options of a Controller. rpc.Options describes the fields. All numbers must be set.
type Options struct {
	Logger, Audit            *slog.Logger // Logger must not be nil
	AllowHosts, AllowOrigins []string
	TrustedProxies           []netip.Prefix
	MaxPending               int
	MaxPendingOfOne          int
	Rates                    *Rates
}

// Controller admits requests and connections. Its exported fields do not change.
type Controller struct {
	Origins Origins
	Sockets *Sockets
	Rates   *RateLimiter
	Audit   *Audit

	hub     Hub
	log     *slog.Logger
	proxies proxies
	tickets *tickets
	delays  *loginDelays // nil: answers to bad logins are not delayed
	conns   *connections

	loginsRefused atomic.Int64 // tokens and tickets that were not accepted
}

// New returns a controller for a hub.
func New(h Hub, o *Options) *Controller {
	c := &Controller{
		Origins: newOrigins(o.AllowHosts, o.AllowOrigins),
		Rates:   newRateLimiter(o.Rates),
		Audit:   newAudit(o.Logger, o.Audit),
		hub:     h, log: o.Logger, proxies: o.TrustedProxies, tickets: newTickets(),
	}
	c.Sockets = newSockets(c.proxies, o.MaxPending, o.MaxPendingOfOne)
	c.conns = newConnections(o.MaxPending, o.MaxPendingOfOne)
	if o.Rates != nil {
		c.delays = newLoginDelays()
	}
	return c
}

// Refused returns how many logins and connections were refused.
func (c *Controller) Refused() (logins, connections int64) {
	return c.loginsRefused.Load(), c.conns.refused.Load()
}

// CheckOrigin refuses a request with a Host or an Origin that is not allowed.
func (c *Controller) CheckOrigin(r *http.Request) error {
	err := c.Origins.Check(r)
	if err != nil {
		c.Audit.Refuse("host_refused", Actor{From: c.Address(r)}, err, "Host "+r.Host+", Origin "+r.Header.Get("Origin"))
	}
	return err
}
