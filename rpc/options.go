package rpc

import (
	"log/slog"
	"time"
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
	// WriteTimeout is how long a peer may take nothing of what is sent to it, and how long it may take for the whole reply to a
	// POST; 0: 10 s.
	WriteTimeout time.Duration
	// BodyTimeout is how long the body of a POST may take; 0: 10 s.
	BodyTimeout time.Duration
	// MaxPending is how many sockets may be open that have not shown a token, and MaxPosts how many POSTs may be under way; 0: 1,000
	// each. One more is answered with HTTP 503.
	MaxPending, MaxPosts int
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
	orElse(&d.WriteTimeout, 10*time.Second)
	orElse(&d.BodyTimeout, 10*time.Second)
	orElse(&d.MaxPending, defaultMost)
	orElse(&d.MaxPosts, defaultMost)
	return d
}

func orElse[N int | time.Duration](n *N, otherwise N) {
	if *n <= 0 {
		*n = otherwise
	}
}
