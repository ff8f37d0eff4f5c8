package llm

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// MaxRetryAfter is the longest pause that is waited for: a vendor that asks for more has failed.
const MaxRetryAfter = 2 * time.Minute

const (
	retryMin = 500 * time.Millisecond
	retryMax = 20 * time.Second
)

// pauses are those of one run.
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

// wait pauses after a failed call. It reports false, at once, where the pause would not be over before ctx is, or is longer than MaxRetryAfter.
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
