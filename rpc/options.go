package rpc

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/parleyhub/parley"
)

// Options of a Server. Nil and the zero value are valid.
type Options struct {
	// Logger gets faults of the hub's own and, at level debug, what peers did wrong; nil discards it.
	Logger *slog.Logger
	// AllowHosts are names that the Host header may have besides those of the loopback interface. One without a port allows
	// any port.
	AllowHosts []string
	// AllowOrigins are the origins, such as https://chat.example.com, of which web pages may connect. The hub's own origin may.
	AllowOrigins []string
	// AuthTimeout is how long a socket may be without a token; 0: 5 s.
	AuthTimeout time.Duration
	// PingAfter is how long a socket may be silent before it is pinged; 0: 15 s. A peer that does not answer within
	// PingTimeout (0: 10 s) is gone.
	PingAfter   time.Duration
	PingTimeout time.Duration
	// KeepAlive is how long an SSE stream may be silent before a comment is written to it; 0: 15 s.
	KeepAlive time.Duration
	// WriteTimeout is how long a peer may take nothing of what is sent to it, and how long it may take for the whole reply to a
	// POST; 0: 10 s.
	WriteTimeout time.Duration
	// BodyTimeout is how long the body of a POST may take; 0: 10 s.
	BodyTimeout time.Duration
	// MaxPending is how many sockets may be open that have not shown a token, and MaxPosts how many requests over HTTP, without streams, may be under way; 0: 1,000
	// each. One more is answered with HTTP 503. MaxPending also bounds the connections of Listener that have shown none: one more is closed, or
	// closes the oldest of an address that has more.
	MaxPending, MaxPosts int
	// MaxPendingOfOne is how many connections from one address may be open that have not shown a good token; 0: 256. Loopback
	// addresses are not bounded by it.
	MaxPendingOfOne int
	// TrustedProxies are the addresses of proxies whose X-Forwarded-For is believed; nil: none.
	TrustedProxies []netip.Prefix
	// Rates bound what one token may do; nil: nothing is bounded, and bad logins are not slowed.
	Rates *Rates
	// Guests are handlers of other protocols, by path.
	Guests map[string]*Guest
	// Pages are documents that anybody may read, by path: they are served behind Host and Origin, and without a token.
	Pages map[string]http.Handler
	// Metrics gives what else /metrics is to tell, of the hub's program; nil: nothing. It is called for each scrape, and may be called at once.
	Metrics func() []Metric
	// Tracer is told of the calls whose params carry a traceparent, and by guests of theirs; nil: nobody is.
	Tracer parley.Tracer
	// Audit gets a line for every grant, refusal and revocation, never with a secret; nil: Logger, at level debug.
	Audit *slog.Logger
}

// Rates bound what one token may do. A zero field has the value that stands at it.
type Rates struct {
	// WritesPerSecond and WriteBurst bound the calls that write; 0: 100 and 500.
	WritesPerSecond float64
	WriteBurst      int
	// BytesPerSecond and ByteBurst bound what they carry; 0: 4 MiB and 32 MiB.
	BytesPerSecond float64
	ByteBurst      int
	// Streams bounds the subscriptions and SSE streams that are open at once; 0: 1,000.
	Streams int
}

// defaultMost is what MaxPending and MaxPosts are unless told otherwise.
const defaultMost = 1000

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	orElse(&d.AuthTimeout, 5*time.Second)
	orElse(&d.PingAfter, 15*time.Second)
	orElse(&d.PingTimeout, 10*time.Second)
	orElse(&d.KeepAlive, 15*time.Second)
	orElse(&d.WriteTimeout, 10*time.Second)
	orElse(&d.BodyTimeout, 10*time.Second)
	orElse(&d.MaxPending, defaultMost)
	orElse(&d.MaxPosts, defaultMost)
	orElse(&d.MaxPendingOfOne, 256)
	return d
}

func orElse[N int | time.Duration](n *N, otherwise N) {
	if *n <= 0 {
		*n = otherwise
	}
}
