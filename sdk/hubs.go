package sdk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// MaxURLs is the maximum number of hubs of a client.
const MaxURLs = 64

// URLs parses a value of PARLEY_URL: the address of a hub, or of several hubs that share a log,
// separated by commas. Each is ws://host:port/rpc, or with the scheme wss, http or https. /rpc may
// be omitted. All addresses must have the same scheme, and no two may be equal.
func URLs(list string) ([]string, error) { return hubURLs(strings.Split(list, ",")) }

// hubURLs checks and completes the addresses of hubs.
func hubURLs(given []string) ([]string, error) {
	if len(given) > MaxURLs {
		return nil, fmt.Errorf("hub url: %d addresses, expected at most %d", len(given), MaxURLs)
	}
	var all []string
	seen := map[string]int{}
	first := ""
	for i, s := range given {
		s = strings.TrimSpace(s)
		if s == "" && len(given) > 1 {
			return nil, fmt.Errorf("hub url %d of %d is empty: expected addresses with one comma between two", i+1, len(given))
		}
		u, err := hubURL(s)
		if err != nil {
			return nil, err
		}
		if first == "" {
			first = u.Scheme
		}
		if u.Scheme != first {
			return nil, fmt.Errorf(
				"hub url %d of %d begins with %s:// and the first with %s://: expected the same for all",
				i+1,
				len(given),
				u.Scheme,
				first,
			)
		}
		where := strings.ToLower(u.Hostname()) + " " + portOf(u) + " " + u.Path + "?" + u.RawQuery
		if before := seen[where]; before > 0 {
			return nil, fmt.Errorf("hub url %d of %d is the same as number %d", i+1, len(given), before)
		}
		seen[where] = i + 1
		all = append(all, u.String())
	}
	return all, nil
}

// hubURL checks and completes the address of a hub.
func hubURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("hub url: %w", err)
	}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
	default:
		return nil, fmt.Errorf("hub url %q: expected ws://host:port/rpc or wss://host:port/rpc", s)
	}
	if u.Host == "" {
		return nil, fmt.Errorf("hub url %q: it names no host", s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/rpc"
	}
	return u, nil
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "wss", u.Scheme == "https":
		return "443"
	}
	return "80"
}

// hubs are the hubs of a client, in a random order. So the clients of a failed hub spread over the
// others.
type hubs struct {
	all []string

	mu sync.Mutex // guards the field below
	at int        // the last good hub, or the next one to try
}

func newHubs(all []string) *hubs {
	all = slices.Clone(all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return &hubs{all: all}
}

func (h *hubs) several() bool { return len(h.all) > 1 }

// round returns all hubs in the order in which they are tried.
func (h *hubs) round() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Concat(h.all[h.at:], h.all[:h.at])
}

func (h *hubs) current() string { return h.round()[0] }

// others returns all hubs except one, in that order.
func (h *hubs) others(url string) []string {
	return slices.DeleteFunc(h.round(), func(u string) bool { return u == url })
}

// stay records that a hub is good.
func (h *hubs) stay(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = slices.Index(h.all, url)
}

// leave records that a hub is not the next one to try.
func (h *hubs) leave(url string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all[h.at] == url {
		h.at = (h.at + 1) % len(h.all)
	}
}

// dialHub tries each hub once until one accepts this client. Each attempt takes at most patience.
func (c *Client) dialHub(ctx context.Context, patience time.Duration) (*link, error) {
	return c.dialOne(ctx, c.hubs.round(), patience)
}

// dialOne is dialHub for the given hubs.
func (c *Client) dialOne(ctx context.Context, urls []string, patience time.Duration) (*link, error) {
	var failed []error
	for _, url := range urls {
		l, err := c.dialLink(ctx, url, patience)
		if err == nil {
			c.hubs.stay(url)
			return l, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
		if c.hubs.several() {
			c.o.Logger.Debug("no connection to this hub", "url", url, "error", err)
		}
	}
	return nil, roundError(failed)
}

// roundError returns why no hub accepted a client: a refusal if a hub answered with one, or else
// all errors.
func roundError(failed []error) error {
	for _, refuses := range []func(error) bool{
		isRefusal,
		func(err error) bool { return !errors.Is(err, parley.ErrUnavailable) },
		func(error) bool { return len(failed) == 1 },
	} {
		if i := slices.IndexFunc(failed, refuses); i >= 0 {
			return failed[i]
		}
	}
	return &unreachable{failed}
}

// isRefusal reports whether a hub checked the token and refused it.
func isRefusal(err error) bool {
	return errors.Is(err, parley.ErrUnauthenticated) || errors.Is(err, parley.ErrForbidden)
}

// unreachable means that none of several hubs accepts a client.
type unreachable struct{ failed []error }

func (e *unreachable) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "none of %d hubs takes this client", len(e.failed))
	for _, err := range e.failed {
		b.WriteString("; ")
		b.WriteString(err.Error())
	}
	return b.String()
}

func (e *unreachable) Unwrap() []error { return e.failed }

// The timeouts of one attempt to connect and authenticate. With several hubs, the first rounds use
// firstTimeout.
const (
	dialTimeout  = 10 * time.Second
	firstTimeout = 2 * time.Second
)

// settled is how long a connection must last to count as good.
const settled = 2 * time.Second

// pace computes the pause before the next round, and the timeout of its attempts.
type pace struct {
	c        *Client
	pauses   interface{ NextBackOff() time.Duration }
	patience time.Duration
	brief    int // consecutive connections that were not good
}

func (c *Client) newPace() *pace {
	p := &pace{c: c}
	p.again()
	return p
}

// again resets the pace.
func (p *pace) again() {
	p.pauses, p.patience, p.brief = p.c.newBackoff(), dialTimeout, 0
	if p.c.hubs.several() {
		p.patience = firstTimeout
	}
}

// afterRound returns the pause after a round in which no hub accepted the client.
func (p *pace) afterRound() time.Duration {
	p.patience = min(2*p.patience, dialTimeout)
	return p.next()
}

func (p *pace) next() time.Duration { return min(p.pauses.NextBackOff(), p.c.o.MaxBackoff) }

// afterLink returns the pause after a lost connection that lasted for stood. The pause before
// another hub is short, unless all were tried.
func (p *pace) afterLink(l *link, stood time.Duration) time.Duration {
	comeBack := l.retryAfter()
	if !p.c.hubs.several() {
		p.again()
		if comeBack > 0 {
			return comeBack + p.short() // not everybody at the same moment
		}
		return p.next()
	}
	if comeBack > 0 || stood < settled || l.gaveUp.Load() {
		p.c.hubs.leave(l.url)
	}
	if stood >= settled {
		p.again()
	} else {
		p.brief++
	}
	if p.brief < len(p.c.hubs.all) {
		return p.short()
	}
	p.brief = 0
	return max(p.next(), comeBack)
}

func (p *pace) short() time.Duration { return rand.N(p.c.o.MinBackoff) }
