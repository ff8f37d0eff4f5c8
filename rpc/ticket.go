package rpc

import (
	"container/list"
	"context"
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

const (
	// ticketParam is where a ticket stands in a URL.
	ticketParam  = "ticket"
	ticketPrefix = "tkt_"
	// maxTicketsOfOne bounds the unused tickets of one token, maxTicketsOfAgent those of one participant, and maxTickets those of all.
	maxTicketsOfOne   = 100
	maxTicketsOfAgent = 1000
	maxTickets        = 10_000
)

var (
	errTicketPlace = parley.Refuse(parley.ErrUnauthenticated, "a ticket opens an event stream or the socket, nothing else", "Authorization: Bearer <token>")
	errBadTicket   = parley.Refuse(parley.ErrUnauthenticated, "the ticket is not valid", "a ticket of createTicket that is fresh and was not used")
)

// ticket is one that was not used.
type ticket struct {
	hash   [sha256.Size]byte
	holder *hub.Principal
	origin string // lower case; empty: any
	ends   time.Time
	elem   *list.Element // in tickets.ordered
}

// tickets are those that were not used. They are nowhere else: a restart ends them.
type tickets struct {
	mu      sync.Mutex // guards the fields below
	byHash  map[[sha256.Size]byte]*ticket
	ordered list.List      // of *ticket, by their end
	unused  map[string]int // by token
	agents  map[string]int // by participant
}

func newTickets() *tickets {
	return &tickets{byHash: map[[sha256.Size]byte]*ticket{}, unused: map[string]int{}, agents: map[string]int{}}
}

// add keeps a ticket, or refuses it where there are too many.
func (t *tickets) add(k *ticket) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.forgetLocked(now)
	if t.unused[k.holder.TokenID] >= maxTicketsOfOne || t.agents[k.holder.AgentID] >= maxTicketsOfAgent || len(t.byHash) >= maxTickets {
		first := t.ordered.Front().Value.(*ticket)
		return &parley.Error{
			Err: parley.ErrRateLimited, Message: "too many tickets wait for their use", RetryAfterMs: max(first.ends.Sub(now).Milliseconds(), 1),
		}
	}
	t.byHash[k.hash] = k
	k.elem = t.insertLocked(k)
	t.unused[k.holder.TokenID]++
	t.agents[k.holder.AgentID]++
	return nil
}

// insertLocked puts a ticket before those that end after it.
func (t *tickets) insertLocked(k *ticket) *list.Element {
	e := t.ordered.Back()
	for e != nil && e.Value.(*ticket).ends.After(k.ends) {
		e = e.Prev()
	}
	if e == nil {
		return t.ordered.PushFront(k)
	}
	return t.ordered.InsertAfter(k, e)
}

// take gives a ticket that is good, and ends it. Any use ends it, so that none can be tried out.
func (t *tickets) take(shown string) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetLocked(time.Now())
	k := t.byHash[sha256.Sum256([]byte(shown))]
	if k != nil {
		t.dropLocked(k)
	}
	return k
}

func (t *tickets) dropLocked(k *ticket) {
	delete(t.byHash, k.hash)
	t.ordered.Remove(k.elem)
	for _, n := range []struct {
		of  map[string]int
		key string
	}{{t.unused, k.holder.TokenID}, {t.agents, k.holder.AgentID}} {
		if n.of[n.key]--; n.of[n.key] == 0 {
			delete(n.of, n.key)
		}
	}
}

// forgetLocked forgets the tickets whose time is over.
func (t *tickets) forgetLocked(now time.Time) {
	for e := t.ordered.Front(); e != nil && !now.Before(e.Value.(*ticket).ends); e = t.ordered.Front() {
		t.dropLocked(e.Value.(*ticket))
	}
}

// createTicket makes a stand-in for the caller's token.
func createTicket(_ context.Context, c *call) {
	q, err := paramsOf[parley.CreateTicketParams](c)
	if err != nil {
		c.refuse(err)
		return
	}
	k := &ticket{holder: c.principal, origin: strings.ToLower(q.Origin), ends: time.Now().Add(parley.TicketLifeMs * time.Millisecond)}
	if c.principal.IsCommand() {
		c.fail(parley.Refuse(parley.ErrForbidden, "the token of a command makes no tickets", ""))
		return
	}
	if q.ConversationID != "" {
		k.holder, err = c.server.hub.Narrow(c.principal, q.ConversationID)
	}
	if err == nil && q.Origin != "" && !isOrigin(k.origin) {
		err = parley.Refuse(parley.ErrValidationFailed, "origin is none", "such as https://chat.example.com")
	}
	shown := ticketPrefix + c.server.hub.NewSecret()
	if err == nil {
		k.hash = sha256.Sum256([]byte(shown))
		err = c.server.tickets.add(k)
	}
	if err != nil {
		c.fail(err)
		return
	}
	c.server.audit.ticketCreated(c)
	c.succeed(func(b []byte) ([]byte, error) {
		return appendJSON(b, parley.CreateTicketResult{Ticket: shown, ExpiresInMs: parley.TicketLifeMs})
	})
}

// Ticket makes a ticket for a link that the program of the hub shows to a person, who takes longer than a page. It opens one socket of the hub's own pages.
func (s *Server) Ticket(holder *hub.Principal, life time.Duration) (string, error) {
	shown := ticketPrefix + s.hub.NewSecret()
	return shown, s.tickets.add(&ticket{hash: sha256.Sum256([]byte(shown)), holder: holder, ends: time.Now().Add(life)})
}

// isOrigin reports whether a text, in lower case, is what browsers send as Origin.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && text == u.Scheme+"://"+u.Host
}

// ticketHolder finds who a ticket stands for. Who holds a ticket speaks as nobody else.
func (s *Server) ticketHolder(r *http.Request, shown string) (*hub.Principal, error) {
	v := s.visitor(r)
	k := s.tickets.take(shown)
	err := s.holds(k, r)
	s.counters.login(err)
	if err != nil {
		s.audit.refused(refusedLogin(v, "", methodTicket, err))
		return nil, s.slowed(r.Context(), v.from, err)
	}
	v.conn.show()
	s.audit.granted(k.holder, v.from, methodTicket)
	return k.holder, nil
}

// methodTicket is what the audit calls the use of a ticket.
const methodTicket = "ticket"

// holds says why a ticket, nil for one that is not known, does not open this request, or nil.
func (s *Server) holds(k *ticket, r *http.Request) error {
	if k == nil || !k.madeFor(r) {
		return errBadTicket
	}
	if agent := r.Header.Get("Parley-Agent"); agent != "" && agent != k.holder.AgentID {
		return parley.Refuse(parley.ErrForbidden, "the ticket speaks as another id", "no Parley-Agent header")
	}
	return s.hub.Valid(k.holder)
}

// madeFor reports whether the page that shows a ticket is of its origin. For a request to its own origin a browser may leave Origin out, and
// says so otherwise, which no page can do for it.
func (k *ticket) madeFor(r *http.Request) bool {
	origin := strings.ToLower(r.Header.Get("Origin"))
	if k.origin == "" || origin == k.origin {
		return true
	}
	host := strings.ToLower(r.Host)
	return origin == "" && r.Header.Get("Sec-Fetch-Site") == "same-origin" && (k.origin == "https://"+host || k.origin == "http://"+host)
}

// hideTicket takes the ticket out of the request's URL, so that nothing that comes after can log it or take it for a param.
func hideTicket(r *http.Request, query url.Values) {
	query.Del(ticketParam)
	r.URL.RawQuery = query.Encode()
	r.RequestURI = r.URL.RequestURI()
}
