package rpc

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/httpapi"
	"github.com/parleyhub/parley/rpc/internal/metrics"
)

// The types of Options that packages below rpc define.
type (
	// Rates bound the calls of one account.
	Rates = admission.Rates
	// Protocol is a handler of another protocol behind the login of the hub.
	Protocol = httpapi.Protocol
	// Caller is the caller of a request to a Protocol.
	Caller = httpapi.Caller
	// Metric is a metric of the program around the hub.
	Metric = metrics.Metric
	// MetricSeries has the values of a Metric for one combination of labels.
	MetricSeries = metrics.Series
)

// WithCaller returns a context for which CallerOf returns c.
func WithCaller(ctx context.Context, c Caller) context.Context { return httpapi.WithCaller(ctx, c) }

// CallerOf returns the caller of a request to a Protocol.
func CallerOf(ctx context.Context) (Caller, bool) { return httpapi.CallerOf(ctx) }

// Options of a Server. Nil and the zero value are valid.
type Options struct {
	// Logger gets internal errors and, at level debug, errors of peers; nil discards them.
	Logger *slog.Logger
	// AllowHosts are names for the Host header besides those of the loopback interface. A name without
	// a port allows any port.
	AllowHosts []string
	// AllowOrigins are the origins, such as https://chat.example.com, of pages that may connect. The
	// hub's own origin is always allowed.
	AllowOrigins []string
	// AuthTimeout is how long a socket may be open without a token; 0: 5 s.
	AuthTimeout time.Duration
	// PingAfter is how long a socket may be silent before the hub pings it; 0: 15 s. A peer without an
	// answer within PingTimeout (0: 10 s) is disconnected.
	PingAfter   time.Duration
	PingTimeout time.Duration
	// KeepAlive is how long an SSE stream may be silent before the hub writes a comment; 0: 15 s.
	KeepAlive time.Duration
	// WriteTimeout is how long a peer may take to read a frame or a piece, or the whole answer to a
	// POST; 0: 10 s.
	WriteTimeout time.Duration
	// BodyTimeout is how long the body of a POST may take to arrive; 0: 10 s.
	BodyTimeout time.Duration
	// MaxPending bounds the open sockets without a token, and MaxPosts the HTTP requests under way,
	// without streams; 0: 1,000 each. One more is answered with HTTP 503. MaxPending also bounds the
	// connections of Listener without a token: one more is closed, or replaces the oldest of an address
	// that has more.
	MaxPending, MaxPosts int
	// MaxPendingOfOne bounds the connections from one address that have not shown a good token; 0: 256.
	// Loopback addresses have no such limit.
	MaxPendingOfOne int
	// TrustedProxies are the addresses of proxies whose X-Forwarded-For is trusted; nil: none.
	TrustedProxies []netip.Prefix
	// Rates bound the calls of one account; nil: there are no limits, and bad logins are not delayed.
	Rates *Rates
	// Protocols are handlers of other protocols, by path.
	Protocols map[string]*Protocol
	// Pages are documents for anyone, by path. They need an allowed Host and Origin, and no token.
	Pages map[string]http.Handler
	// Metrics returns more metrics for /metrics, of the program around the hub; nil: none. It is called
	// for each scrape, from several goroutines.
	Metrics func() []Metric
	// Tracer gets a span for each call whose params have a traceparent, and the spans of protocols;
	// nil: there are no spans.
	Tracer parley.Tracer
	// Audit gets a line for each grant, refusal and revocation, never with a secret; nil: Logger, with
	// grants at level debug.
	Audit *slog.Logger
}

// defaultMost is the default of MaxPending and MaxPosts.
const defaultMost = 1000

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&d.AuthTimeout, 5*time.Second)
	setDefault(&d.PingAfter, 15*time.Second)
	setDefault(&d.PingTimeout, 10*time.Second)
	setDefault(&d.KeepAlive, 15*time.Second)
	setDefault(&d.WriteTimeout, 10*time.Second)
	setDefault(&d.BodyTimeout, 10*time.Second)
	setDefault(&d.MaxPending, defaultMost)
	setDefault(&d.MaxPosts, defaultMost)
	setDefault(&d.MaxPendingOfOne, 256)
	return d
}

func setDefault[N cmp.Ordered](n *N, otherwise N) {
	if *n <= *new(N) {
		*n = otherwise
	}
}
