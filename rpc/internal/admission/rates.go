package admission

import (
	"cmp"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// maxAccounts bounds the accounts that have their own limits.
const maxAccounts = 65_536

// Rates bound the calls of one account. A zero field has its default.
type Rates struct {
	// WritesPerSecond and WriteBurst bound the calls that write; 0: 100 and 500.
	WritesPerSecond float64
	WriteBurst      int
	// BytesPerSecond and ByteBurst bound the bytes of these calls; 0: 4 MiB and 32 MiB.
	BytesPerSecond float64
	ByteBurst      int
	// Streams bounds the subscriptions and SSE streams that are open at once; 0: 1,000.
	Streams int
}

func (r Rates) withDefaults() Rates {
	return Rates{
		WritesPerSecond: positive(r.WritesPerSecond, 100), WriteBurst: positive(r.WriteBurst, 500),
		BytesPerSecond: positive(r.BytesPerSecond, 4<<20), ByteBurst: positive(r.ByteBurst, 32<<20),
		Streams: positive(r.Streams, 1000),
	}
}

func positive[N cmp.Ordered](n, otherwise N) N {
	if n > *new(N) {
		return n
	}
	return otherwise
}

// RateLimiter applies Rates to accounts. A nil one has no limits.
type RateLimiter struct {
	bounds   Rates
	accounts *table[string, usage]
}

// usage is the recent use of one account. The mu of its table guards it.
type usage struct {
	writes, bytes *rate.Limiter
	streams       int
}

func newRateLimiter(bounds *Rates) *RateLimiter {
	if bounds == nil {
		return nil
	}
	b := bounds.withDefaults()
	create := func() *usage {
		return &usage{
			writes: rate.NewLimiter(rate.Limit(b.WritesPerSecond), b.WriteBurst),
			bytes:  rate.NewLimiter(rate.Limit(b.BytesPerSecond), b.ByteBurst),
		}
	}
	idle := func(u *usage) bool {
		return u.streams == 0 && u.writes.Tokens() >= float64(b.WriteBurst) && u.bytes.Tokens() >= float64(b.ByteBurst)
	}
	return &RateLimiter{bounds: b, accounts: newTable[string](maxAccounts, create, idle)}
}

// CountWrite counts a write and its bytes, or refuses it and counts nothing. A write larger than the
// burst costs the burst: it passes after a pause, and is never refused forever.
func (r *RateLimiter) CountWrite(p *hub.Principal, bytes int) error { return r.spend(p, 1, bytes) }

// CountCopy counts the bytes that a write copies within the hub, or refuses them as CountWrite does.
func (r *RateLimiter) CountCopy(p *hub.Principal, bytes int) error { return r.spend(p, 0, bytes) }

func (r *RateLimiter) spend(p *hub.Principal, calls, bytes int) error {
	if r == nil {
		return nil
	}
	var wait time.Duration
	r.accounts.use(p.Account, func(u *usage) {
		now := time.Now()
		one, all := u.writes.ReserveN(now, calls), u.bytes.ReserveN(now, min(bytes, r.bounds.ByteBurst))
		if wait = max(one.DelayFrom(now), all.DelayFrom(now)); wait > 0 {
			all.CancelAt(now)
			one.CancelAt(now)
		}
	})
	if wait == 0 {
		return nil
	}
	return &parley.Error{
		Err: parley.ErrRateLimited, Message: "the token writes faster than this hub allows",
		RetryAfterMs: max((wait + time.Millisecond - 1).Milliseconds(), 1),
		Expected:     fmt.Sprintf("%g calls and %.0f bytes a second", r.bounds.WritesPerSecond, r.bounds.BytesPerSecond),
	}
}

// OpenStream counts a subscription or an SSE stream, or refuses it. The caller must call release once.
func (r *RateLimiter) OpenStream(p *hub.Principal) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	var held *usage
	r.accounts.use(p.Account, func(u *usage) {
		if u.streams < r.bounds.Streams {
			u.streams++
			held = u
		}
	})
	if held == nil {
		return nil, &parley.Error{
			Err: parley.ErrRateLimited, Message: fmt.Sprintf("the token has %d streams open", r.bounds.Streams),
			RetryAfterMs: 1000,
		}
	}
	return func() {
		r.accounts.mu.Lock()
		defer r.accounts.mu.Unlock()
		held.streams--
	}, nil
}
