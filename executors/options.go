package executors

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/parleyhub/parley"
)

// Options are for Loop and Serve. Nil and the zero value are useful.
type Options struct {
	// Logger hears of errors and panics of the agent; nil, nobody.
	Logger *slog.Logger
	// MinBackoff and MaxBackoff bound the jittered pause after an error; 0, 250 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// PollEvery is how often Serve looks for new conversations; 0, 1 s.
	PollEvery time.Duration
	// Turns bounds the turns that Serve has handled at once; 0, 16.
	Turns int
	// Accept chooses among the conversations in which the client takes part; nil, all.
	Accept func(parley.ConversationSummary) bool
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.MinBackoff = cmp.Or(d.MinBackoff, 250*time.Millisecond)
	d.MaxBackoff = max(cmp.Or(d.MaxBackoff, 5*time.Second), d.MinBackoff)
	d.PollEvery = cmp.Or(d.PollEvery, time.Second)
	d.Turns = cmp.Or(d.Turns, 16)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

func (o *Options) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = o.MinBackoff, o.MaxBackoff, 2, 0.5
	return b
}

// pause sleeps for d, or until ctx ends and then gives its error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
