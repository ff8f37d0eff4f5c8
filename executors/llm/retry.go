package llm

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// MaxRetryAfter is the longest pause between calls. If the vendor asks for a longer one, the call
// fails.
const MaxRetryAfter = 10 * time.Minute

const (
	retryMin = 500 * time.Millisecond
	retryMax = 20 * time.Second
)

// pauses computes the pauses of one run.
type pauses struct {
	grow *backoff.ExponentialBackOff
	most time.Duration
}

func (r Retry) pauses() *pauses {
	if r.Min == 0 {
		r.Min = retryMin
	}
	if r.Max == 0 {
		r.Max = retryMax
	}
	r.Max = max(r.Min, r.Max)
	b := &backoff.ExponentialBackOff{InitialInterval: r.Min, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: r.Max}
	b.Reset()
	return &pauses{grow: b, most: r.Max}
}

// wait pauses after a failed call. It returns false at once if ctx would be done before the end of
// the pause, or if the pause is longer than MaxRetryAfter.
func (p *pauses) wait(ctx context.Context, err error) bool {
	pause := min(p.grow.NextBackOff(), p.most)
	var failed *ProviderError
	if errors.As(err, &failed) {
		pause = max(pause, failed.RetryAfter)
	}
	if deadline, ok := ctx.Deadline(); pause > MaxRetryAfter || ok && time.Until(deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
