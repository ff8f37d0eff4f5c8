package sdk

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Options are for Dial. Nil and the zero value are useful.
type Options struct {
	// URLs are further hubs of the same log, besides those that Dial is given: see [URLs].
	URLs []string
	// Token is the secret "plt_...".
	Token string
	// AgentID chooses among the ids that the token may speak as; empty, the token's first.
	AgentID string
	// ClientName is for the hub's log; at most 128 bytes.
	ClientName string
	// HTTPClient makes the handshakes; nil, http.DefaultClient. Its transport decides how connections are made.
	HTTPClient *http.Client
	// Logger hears of lost and regained connections; nil, nobody.
	Logger *slog.Logger
	// MinBackoff and MaxBackoff bound the jittered pause between attempts; 0, 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// PingAfter is how long the hub may be silent before it is pinged; it has as long again to answer before the connection is given
	// up. 0, 15 s; 2 s where there is another hub to go to.
	PingAfter time.Duration
	// Buffer is how many notifications of one subscription wait for a slow loop before the subscription is given up and taken up again
	// later; 0, 512. Whatever this is, no more than 2 MiB of them wait.
	Buffer int
}

// Defaults of PingAfter. Whoever has one hub only may be patient with it.
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

// newBackoff gives the pauses between attempts.
func (o *Options) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = o.MinBackoff, o.MaxBackoff, 2, 0.5
	return b
}
