package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

func TestRetries(t *testing.T) {
	fails := func(retryable bool, after time.Duration) answer {
		return answer{
			err: &llm.ProviderError{Provider: "fake", Category: llm.CategoryRateLimit, Retryable: retryable, RetryAfter: after}}
	}
	for _, c := range []struct {
		name     string
		all      []answer
		o        llm.Options
		deadline time.Duration
		asked    int
		least    time.Duration // shortest duration
		most     time.Duration
		fails    error
	}{
		{"none are asked for", []answer{fails(true, 0)}, llm.Options{}, 0, 1, 0, 0, llm.ErrProvider},
		{"not retryable", []answer{fails(false, 0)}, llm.Options{MaxRetries: 5}, 0, 1, 0, 0, llm.ErrProvider},
		{"no error of the provider", []answer{{err: errors.ErrUnsupported}}, llm.Options{MaxRetries: 5}, 0, 1, 0, 0,
			errors.ErrUnsupported},
		{"once", []answer{fails(true, 0), says("ok")}, llm.Options{MaxRetries: 5}, 0, 2, 250 * time.Millisecond,
			750 * time.Millisecond, nil},
		{"as often as may be", []answer{fails(true, 0)}, llm.Options{MaxRetries: 3}, 0, 4, 1750 * time.Millisecond,
			5250 * time.Millisecond, llm.ErrProvider},
		{"the last is not retryable", []answer{fails(true, 0), fails(false, 0)}, llm.Options{MaxRetries: 5}, 0, 2,
			250 * time.Millisecond, 750 * time.Millisecond, llm.ErrProvider},
		{"own pauses", []answer{fails(true, 0), says("ok")},
			llm.Options{MaxRetries: 1, Retry: llm.Retry{Min: time.Minute, Max: time.Minute}}, 0, 2, 30 * time.Second,
			time.Minute, nil},
		{"at least what the vendor asks for", []answer{fails(true, 9*time.Second), says("ok")}, llm.Options{MaxRetries: 1}, 0,
			2, 9 * time.Second, 9 * time.Second, nil},
		{"not past the deadline", []answer{fails(true, 9*time.Second), says("ok")}, llm.Options{MaxRetries: 1},
			8 * time.Second, 1, 0, 0, llm.ErrProvider},
		{"within the deadline", []answer{fails(true, 9*time.Second), says("ok")}, llm.Options{MaxRetries: 1},
			10 * time.Second, 2, 9 * time.Second, 9 * time.Second, nil},
		{"not past the budget", []answer{fails(true, 9*time.Second), says("ok")},
			llm.Options{MaxRetries: 1, Budget: llm.Budget{Time: 8 * time.Second}}, 0, 1, 0, 0, llm.ErrProvider},
		{"not for hours", []answer{fails(true, time.Hour), says("ok")}, llm.Options{MaxRetries: 1}, 0, 1, 0, 0,
			llm.ErrProvider},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{all: c.all}
				r := a.runtime(nil)
				c.o.IdempotencyKey = "the-key"
				p := prepare(t, r, &llm.Definition{Model: "m"}, &c.o)
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began := time.Now()
				got, err := r.Run(ctx, p, question("hi"))
				took := time.Since(began)
				if !errors.Is(err, c.fails) {
					t.Fatalf("error %v: expected %v", err, c.fails)
				}
				if took < c.least || took > c.most {
					t.Errorf("it took %s: expected %s to %s", took, c.least, c.most)
				}
				if len(a.asked) != c.asked {
					t.Errorf("%d calls: expected %d", len(a.asked), c.asked)
				}
				for _, req := range a.asked {
					if req.IdempotencyKey != "the-key" {
						t.Errorf("the key of a retry is %q", req.IdempotencyKey)
					}
				}
				if err == nil && (got.Timings.Retries != c.asked-1 || got.Elapsed != took) {
					t.Errorf("timings %+v, elapsed %s", got.Timings, got.Elapsed)
				}
			})
		})
	}
}

// TestPausesAreJittered repeats the same retry: concurrent callers must not retry at the same time.
func TestPausesAreJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := map[time.Duration]bool{}
		for range 20 {
			a := &answers{all: []answer{breaks(), says("ok")}}
			r := a.runtime(nil)
			got, err := r.Run(t.Context(), prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 1}),
				question("hi"))
			if err != nil {
				t.Fatal(err)
			}
			took[got.Elapsed] = true
		}
		if len(took) < 15 {
			t.Errorf("%d different pauses of 20", len(took))
		}
	})
}

func TestPauseEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{all: []answer{breaks()}}
		r := a.runtime(nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		_, err := r.Run(ctx, prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 9}), question("hi"))
		if !errors.Is(err, context.Canceled) || time.Since(began) != 100*time.Millisecond || len(a.asked) != 1 {
			t.Errorf("error %v after %s and %d calls: expected the context's, at once", err, time.Since(began), len(a.asked))
		}
	})
}
