package rpc

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

// What bad logins cost. Good ones cost nothing, whatever else comes from their address.
const (
	// badLogins are free in badLoginsTime; each one more is answered after slowAnswer.
	badLogins     = 10
	badLoginsTime = time.Minute
	slowAnswer    = time.Second
	// maxSlowAnswers bounds the answers that are being held back; beyond it they go out at once, and say the same.
	maxSlowAnswers = 256
	// maxAddresses bounds the addresses that are told apart.
	maxAddresses = 10_000
)

// logins slow down who guesses.
type logins struct {
	bad  *ledger[netip.Prefix, rate.Limiter]
	slow chan struct{} // a slot for each answer that is held back
}

func newLogins() *logins {
	every := rate.Every(badLoginsTime / badLogins)
	return &logins{
		bad: newLedger[netip.Prefix](maxAddresses,
			func() *rate.Limiter { return rate.NewLimiter(every, badLogins) },
			func(l *rate.Limiter) bool { return l.Tokens() >= badLogins }),
		slow: make(chan struct{}, maxSlowAnswers),
	}
}

// visitor is who shows a token: where from, and on which connection.
type visitor struct {
	from netip.Addr
	conn *pendingConn // nil where connections are not counted
}

func (s *Server) visitor(r *http.Request) visitor {
	return visitor{from: s.address(r), conn: pendingOf(r.Context())}
}

// bearer finds who the headers of a request say is calling; nil without an Authorization header.
func (s *Server) bearer(r *http.Request) (*hub.Principal, error) {
	query, err := credentialsInURL(r)
	if err == nil && query.Has(ticketParam) {
		err = errTicketPlace
	}
	if err != nil {
		return s.misplaced(r, query[ticketParam], err)
	}
	return s.headers(r)
}

// misplaced refuses what is shown where it is not taken. Tickets that were tried there have ended.
func (s *Server) misplaced(r *http.Request, tickets []string, err error) (*hub.Principal, error) {
	for _, ticket := range tickets {
		s.tickets.take(ticket)
	}
	s.counters.login(err)
	if !errors.Is(err, parley.ErrInvalidParams) {
		s.audit.refused(refusedLogin(s.visitor(r), "", "", err))
	}
	return nil, err
}

// bearerOrTicket is bearer for the upgrade of /rpc and for streams, which a browser opens without headers. A ticket is taken out of the URL.
func (s *Server) bearerOrTicket(r *http.Request) (*hub.Principal, error) {
	query, err := credentialsInURL(r)
	if err != nil {
		return s.misplaced(r, query[ticketParam], err)
	}
	shown := query[ticketParam]
	if len(shown) == 0 {
		return s.headers(r)
	}
	hideTicket(r, query)
	if len(shown) > 1 || len(r.Header.Values("Authorization")) > 0 {
		err = parley.Refuse(parley.ErrUnauthenticated, "the request shows more than one token or ticket", "a ticket or an Authorization header")
		return s.misplaced(r, shown, err)
	}
	return s.ticketHolder(r, shown[0])
}

// headers finds who the Authorization header says is calling.
func (s *Server) headers(r *http.Request) (*hub.Principal, error) {
	values, agents := r.Header.Values("Authorization"), r.Header.Values("Parley-Agent")
	if len(values) == 0 {
		return nil, nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	switch {
	case len(values) > 1 || !strings.EqualFold(scheme, "Bearer"):
		return s.misplaced(r, nil, parley.Refuse(parley.ErrUnauthenticated, "the Authorization header has no bearer token", "Authorization: Bearer <token>"))
	case len(agents) > 1:
		return s.misplaced(r, nil, parley.Refuse(parley.ErrForbidden, "the request names more than one agent", "one Parley-Agent header"))
	}
	return s.login(r.Context(), s.visitor(r), strings.TrimSpace(token), strings.Join(agents, ""), "")
}

// credentialsInURL reads the query, also where it refuses it: for a token in it, where logs and histories keep it.
func credentialsInURL(r *http.Request) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query, parley.Refuse(parley.ErrInvalidParams, "the query of the URL cannot be read", "name=value&name=value")
	}
	for _, name := range []string{"token", "access_token"} {
		if query.Has(name) {
			return query, parley.Refuse(parley.ErrUnauthenticated, "a token is not taken from the URL", "Authorization: Bearer <token>, or a ticket of createTicket")
		}
	}
	return query, nil
}

// login is the one way in: every token that is shown at any door passes here, or verify below it. method is authenticate, or empty for a token that comes with a request.
func (s *Server) login(ctx context.Context, v visitor, token, agentID, method string) (*hub.Principal, error) {
	p, err := s.verify(ctx, v, token, agentID, method)
	if err == nil {
		s.audit.granted(p, v.from, method)
	}
	return p, err
}

// verify is login without the line in the audit that says it was granted.
func (s *Server) verify(ctx context.Context, v visitor, token, agentID, method string) (*hub.Principal, error) {
	p, err := s.hub.Authenticate(ctx, token, agentID)
	s.counters.login(err)
	if err != nil {
		s.audit.refused(refusedLogin(v, agentID, method, err))
		return nil, s.slowed(ctx, v.from, err)
	}
	v.conn.show()
	return p, nil
}

// slowed gives what a refused login is answered with, and holds that back from who has had too many. It is looked at after the token, so that
// nobody can keep a good one out.
func (s *Server) slowed(ctx context.Context, from netip.Addr, err error) error {
	if s.logins == nil || !errors.Is(err, parley.ErrUnauthenticated) {
		return err
	}
	var wait time.Duration
	s.logins.bad.use(neighbourhood(from), func(l *rate.Limiter) {
		if !l.Allow() {
			wait = time.Duration((1 - l.Tokens()) / float64(l.Limit()) * float64(time.Second))
		}
	})
	if wait == 0 {
		return err
	}
	s.holdBack(ctx)
	return &parley.Error{
		Err: parley.ErrRateLimited, Message: "too many bad tokens from this address",
		RetryAfterMs: max(wait-slowAnswer, slowAnswer).Milliseconds(),
	}
}

// holdBack waits as long as a slow answer takes.
func (s *Server) holdBack(ctx context.Context) {
	select {
	case s.logins.slow <- struct{}{}:
	default:
		return
	}
	defer func() { <-s.logins.slow }()
	timer := time.NewTimer(slowAnswer)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.hub.Done():
	}
}
