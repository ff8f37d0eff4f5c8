package admission

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// The cost of bad logins. Good logins have no cost, even from an address with many bad ones.
const (
	// Each address has badLogins in badLoginsTime. The answer to each further one takes loginDelay.
	badLogins     = 10
	badLoginsTime = time.Minute
	loginDelay    = time.Second
	// maxDelays bounds the delayed answers. Beyond it, the same answer is sent at once.
	maxDelays = 256
	// maxAddresses bounds the addresses that have their own counts.
	maxAddresses = 10_000
)

// loginDelays slows down clients that guess tokens.
type loginDelays struct {
	bad   *table[netip.Prefix, rate.Limiter]
	slots chan struct{} // one for each delayed answer
}

func newLoginDelays() *loginDelays {
	every := rate.Every(badLoginsTime / badLogins)
	return &loginDelays{
		bad: newTable[netip.Prefix](maxAddresses,
			func() *rate.Limiter { return rate.NewLimiter(every, badLogins) },
			func(l *rate.Limiter) bool { return l.Tokens() >= badLogins }),
		slots: make(chan struct{}, maxDelays),
	}
}

// Client is the source of a token: an address and a connection.
type Client struct {
	From netip.Addr
	conn *pendingConn // nil where connections are not counted
}

// ClientOf returns the client of a request.
func (c *Controller) ClientOf(r *http.Request) Client {
	return Client{From: c.Address(r), conn: pendingOf(r.Context())}
}

// Authenticate returns the principal of the headers of a request. It returns nil without an
// Authorization header.
func (c *Controller) Authenticate(r *http.Request) (*hub.Principal, error) {
	query, err := readCredentials(r)
	if err == nil && query.Has(ticketParam) {
		err = errTicketPlace
	}
	if err != nil {
		return c.refuseCredentials(r, query[ticketParam], err)
	}
	return c.authenticateHeaders(r)
}

// AuthenticateWithTicket is Authenticate for sockets and streams, which a browser opens without
// headers. It removes a ticket from the URL of the request.
func (c *Controller) AuthenticateWithTicket(r *http.Request) (*hub.Principal, error) {
	query, err := readCredentials(r)
	if err != nil {
		return c.refuseCredentials(r, query[ticketParam], err)
	}
	shown := query[ticketParam]
	if len(shown) == 0 {
		return c.authenticateHeaders(r)
	}
	hideTicket(r, query)
	if len(shown) > 1 || len(r.Header.Values("Authorization")) > 0 {
		err = parley.Refuse(parley.ErrUnauthenticated,
			"the request shows more than one token or ticket", "a ticket or an Authorization header")
		return c.refuseCredentials(r, shown, err)
	}
	return c.redeemTicket(r, shown[0])
}

// refuseCredentials refuses a token or ticket in a wrong place or form. It ends the tickets.
func (c *Controller) refuseCredentials(r *http.Request, tickets []string, err error) (*hub.Principal, error) {
	for _, ticket := range tickets {
		c.tickets.take(ticket)
	}
	c.countLogin(err)
	if !errors.Is(err, parley.ErrInvalidParams) {
		c.auditRefusedLogin(c.ClientOf(r), "", "", err)
	}
	return nil, err
}

func (c *Controller) authenticateHeaders(r *http.Request) (*hub.Principal, error) {
	values, agents := r.Header.Values("Authorization"), r.Header.Values("Parley-Agent")
	if len(values) == 0 {
		return nil, nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	switch {
	case len(values) > 1 || !strings.EqualFold(scheme, "Bearer"):
		return c.refuseCredentials(r, nil, parley.Refuse(parley.ErrUnauthenticated,
			"the Authorization header has no bearer token", "Authorization: Bearer <token>"))
	case len(agents) > 1:
		return c.refuseCredentials(r, nil, parley.Refuse(parley.ErrForbidden,
			"the request names more than one agent", "one Parley-Agent header"))
	}
	client := c.ClientOf(r)
	p, err := c.VerifyToken(r.Context(), client, strings.TrimSpace(token), strings.Join(agents, ""), "")
	if err == nil {
		c.Audit.GrantLogin(p, client.From, "")
	}
	return p, err
}

// readCredentials returns the query, also if it refuses it. It refuses tokens in URLs, because logs
// and histories keep those.
func readCredentials(r *http.Request) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query, parley.Refuse(parley.ErrInvalidParams, "the query of the URL cannot be read", "name=value&name=value")
	}
	for _, name := range []string{"token", "access_token"} {
		if query.Has(name) {
			return query, parley.Refuse(parley.ErrUnauthenticated,
				"a token is not taken from the URL", "Authorization: Bearer <token>, or a ticket of createTicket")
		}
	}
	return query, nil
}

// VerifyToken returns the principal of a token. All tokens of all protocols pass here. method is
// authenticate, or empty for a token in the headers of a request. The caller audits the grant.
func (c *Controller) VerifyToken(
	ctx context.Context, client Client, token, agentID, method string,
) (*hub.Principal, error) {
	p, err := c.hub.Authenticate(ctx, token, agentID)
	c.countLogin(err)
	if err != nil {
		c.auditRefusedLogin(client, agentID, method, err)
		return nil, c.delayRefusal(ctx, client.From, err)
	}
	client.conn.markAuthenticated()
	return p, nil
}

// countLogin counts a token or a ticket that is not valid, or not for the id that the caller named.
func (c *Controller) countLogin(err error) {
	if errors.Is(err, parley.ErrUnauthenticated) || errors.Is(err, parley.ErrForbidden) {
		c.loginsRefused.Add(1)
	}
}

func (c *Controller) auditRefusedLogin(client Client, agentID, method string, err error) {
	event := "login_refused"
	if parley.ErrorRowOf(err).Err == parley.ErrForbidden {
		event = "agent_refused"
	}
	c.Audit.Refuse(event, Actor{From: client.From, AgentID: agentID, Method: method}, err, "")
}

// delayRefusal returns the answer to a refused login. It waits first if the address had too many. The
// token is verified before that, so bad logins never keep a good one out.
func (c *Controller) delayRefusal(ctx context.Context, from netip.Addr, err error) error {
	if c.delays == nil || !errors.Is(err, parley.ErrUnauthenticated) {
		return err
	}
	var wait time.Duration
	c.delays.bad.use(networkOf(from), func(l *rate.Limiter) {
		if !l.Allow() {
			wait = time.Duration((1 - l.Tokens()) / float64(l.Limit()) * float64(time.Second))
		}
	})
	if wait == 0 {
		return err
	}
	c.delays.wait(ctx, c.hub.Done())
	return &parley.Error{
		Err: parley.ErrRateLimited, Message: "too many bad tokens from this address",
		RetryAfterMs: max(wait-loginDelay, loginDelay).Milliseconds(),
	}
}

// wait waits for loginDelay, unless too many others wait.
func (d *loginDelays) wait(ctx context.Context, stopping <-chan struct{}) {
	select {
	case d.slots <- struct{}{}:
	default:
		return
	}
	defer func() { <-d.slots }()
	timer := time.NewTimer(loginDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-stopping:
	}
}
