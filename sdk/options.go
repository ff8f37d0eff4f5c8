package sdk

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Options are options of [Dial]. nil and the zero value are valid.
type Options struct {
	// URLs are further hubs of the same log. See [URLs].
	URLs []string
	// Token is the secret "plt_...".
	Token string
	// AgentID is one of the ids that the token may speak as. Empty means the first id of the token.
	AgentID string
	// ClientName is for the log of the hub, at most 128 bytes.
	ClientName string
	// HTTPClient makes the handshakes. nil means http.DefaultClient. Its transport makes the
	// connections.
	HTTPClient *http.Client
	// Logger logs lost and new connections. nil means no log.
	Logger *slog.Logger
	// MinBackoff and MaxBackoff bound the random pause between attempts. 0 means 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// PingAfter is how long the hub may be silent before the client pings it. If there is no answer in
	// the same time, the client closes the connection. 0 means 15 s, or 2 s with several hubs.
	PingAfter time.Duration
	// Buffer is the maximum number of notifications of one subscription that wait for a slow loop.
	// When it is full, the client ends the subscription and subscribes again later. 0 means 512. The
	// size of the waiting events is also bounded, by 2 MiB.
	Buffer int
}

// The defaults of PingAfter. A client of a single hub has no alternative, and so waits longer.
const (
	pingAfter        = 15 * time.Second
	pingAfterSeveral = 2 * time.Second
)

func (o *Options) withDefaults(hubs int) Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.HTTPClient = cmp.Or(d.HTTPClient, http.DefaultClient)
	d.MinBackoff = cmp.Or(d.MinBackoff, 100*time.Millisecond)
	d.MaxBackoff = max(cmp.Or(d.MaxBackoff, 5*time.Second), d.MinBackoff)
	if hubs > 1 {
		d.PingAfter = cmp.Or(d.PingAfter, pingAfterSeveral)
	}
	d.PingAfter = cmp.Or(d.PingAfter, pingAfter)
	d.Buffer = cmp.Or(d.Buffer, 512)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// newBackoff returns the pauses between attempts.
func (o *Options) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = o.MinBackoff, o.MaxBackoff, 2, 0.5
	return b
}
