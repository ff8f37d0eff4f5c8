package admission

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

const (
	// ticketParam is the query parameter of a ticket.
	ticketParam  = "ticket"
	ticketPrefix = "tkt_"
	// methodTicket is the name in the audit for the use of a ticket.
	methodTicket = "ticket"
	// The most unused tickets of one token, of one participant, and of all.
	maxTicketsOfToken = 100
	maxTicketsOfAgent = 1000
	maxTickets        = 10_000
)

var (
	errTicketPlace = parley.Refuse(parley.ErrUnauthenticated,
		"a ticket opens an event stream or the socket, nothing else", "Authorization: Bearer <token>")
	errBadTicket = parley.Refuse(parley.ErrUnauthenticated,
		"the ticket is not valid", "a ticket of createTicket that is fresh and was not used")
)

// ticket is an unused ticket.
type ticket struct {
	hash   [sha256.Size]byte
	holder *hub.Principal
	origin string // lower case; empty: any
	ends   time.Time
	elem   *list.Element // in tickets.ordered
}

// tickets are the unused tickets. They are in memory only, so a restart ends them.
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

// keep stores a ticket. It refuses one more than a limit allows.
func (t *tickets) keep(k *ticket) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.removeEndedLocked(now)
	ofToken, ofAgent := t.unused[k.holder.TokenID], t.agents[k.holder.AgentID]
	if ofToken >= maxTicketsOfToken || ofAgent >= maxTicketsOfAgent || len(t.byHash) >= maxTickets {
		first := t.ordered.Front().Value.(*ticket)
		return &parley.Error{
			Err: parley.ErrRateLimited, Message: "too many tickets wait for their use",
			RetryAfterMs: max(first.ends.Sub(now).Milliseconds(), 1),
		}
	}
	t.byHash[k.hash] = k
	k.elem = t.insertLocked(k)
	t.unused[k.holder.TokenID]++
	t.agents[k.holder.AgentID]++
	return nil
}

// insertLocked inserts a ticket before those that end later.
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

// take removes and returns a ticket; nil if it does not exist. Every attempt to use a ticket ends it, so
// a caller cannot try one in several places.
func (t *tickets) take(shown string) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeEndedLocked(time.Now())
	k := t.byHash[sha256.Sum256([]byte(shown))]
	if k != nil {
		t.removeLocked(k)
	}
	return k
}

func (t *tickets) removeLocked(k *ticket) {
	delete(t.byHash, k.hash)
	t.ordered.Remove(k.elem)
	decrement(t.unused, k.holder.TokenID)
	decrement(t.agents, k.holder.AgentID)
}

// decrement subtracts one, and removes a count that is zero.
func decrement[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

func (t *tickets) removeEndedLocked(now time.Time) {
	for e := t.ordered.Front(); e != nil && !now.Before(e.Value.(*ticket).ends); e = t.ordered.Front() {
		t.removeLocked(e.Value.(*ticket))
	}
}

// CreateTicket returns a ticket for one use by a holder, within its life. A ticket with an origin is
// valid for pages of that origin only.
func (c *Controller) CreateTicket(holder *hub.Principal, origin string, life time.Duration) (string, error) {
	lower := strings.ToLower(origin)
	if origin != "" && !isOrigin(lower) {
		return "", parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("invalid origin %.64q", origin), "a URL such as https://chat.example.com")
	}
	shown := ticketPrefix + c.hub.NewSecret()
	k := &ticket{hash: sha256.Sum256([]byte(shown)), holder: holder, origin: lower, ends: time.Now().Add(life)}
	return shown, c.tickets.keep(k)
}

// redeemTicket returns the holder of a ticket. The bearer speaks as no one else.
func (c *Controller) redeemTicket(r *http.Request, shown string) (*hub.Principal, error) {
	client := c.ClientOf(r)
	k := c.tickets.take(shown)
	err := c.checkTicket(k, r)
	c.countLogin(err)
	if err != nil {
		c.auditRefusedLogin(client, "", methodTicket, err)
		return nil, c.delayRefusal(r.Context(), client.From, err)
	}
	client.conn.markAuthenticated()
	c.Audit.GrantLogin(k.holder, client.From, methodTicket)
	return k.holder, nil
}

// checkTicket refuses a request with a ticket that is unknown (nil) or not valid for it.
func (c *Controller) checkTicket(k *ticket, r *http.Request) error {
	if k == nil || !k.allowsOrigin(r) {
		return errBadTicket
	}
	if agent := r.Header.Get("Parley-Agent"); agent != "" && agent != k.holder.AgentID {
		return parley.Refuse(parley.ErrForbidden, "the ticket speaks as another id", "no Parley-Agent header")
	}
	return c.hub.Valid(k.holder)
}

// allowsOrigin reports whether the page that sent a request has the origin of the ticket. A browser
// may omit Origin in a request to the page's own origin. Sec-Fetch-Site then says so, which no page
// can set itself.
func (k *ticket) allowsOrigin(r *http.Request) bool {
	origin := strings.ToLower(r.Header.Get("Origin"))
	if k.origin == "" || origin == k.origin {
		return true
	}
	host := strings.ToLower(r.Host)
	return origin == "" && r.Header.Get("Sec-Fetch-Site") == "same-origin" &&
		(k.origin == "https://"+host || k.origin == "http://"+host)
}

// hideTicket removes the ticket from the URL, so that later code can neither log it nor read it as a
// parameter.
func hideTicket(r *http.Request, query url.Values) {
	query.Del(ticketParam)
	r.URL.RawQuery = query.Encode()
	r.RequestURI = r.URL.RequestURI()
}
