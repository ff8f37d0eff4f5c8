package rpc

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// maxRated bounds the tokens whose use is told apart.
const maxRated = 65_536

// rates hold what tokens do against Rates. A nil one bounds nothing.
type rates struct {
	bounds Rates
	tokens *ledger[string, use] // by account
}

// use is what one token has done lately. It is guarded by its ledger.
type use struct {
	writes, bytes *rate.Limiter
	streams       int
}

func newRates(bounds *Rates) *rates {
	if bounds == nil {
		return nil
	}
	b := bounds.withDefaults()
	return &rates{bounds: b, tokens: newLedger[string](maxRated,
		func() *use {
			return &use{
				writes: rate.NewLimiter(rate.Limit(b.WritesPerSecond), b.WriteBurst),
				bytes:  rate.NewLimiter(rate.Limit(b.BytesPerSecond), b.ByteBurst),
			}
		},
		func(u *use) bool {
			return u.streams == 0 && u.writes.Tokens() >= float64(b.WriteBurst) && u.bytes.Tokens() >= float64(b.ByteBurst)
		})}
}

func (r Rates) withDefaults() Rates {
	if r.WritesPerSecond <= 0 {
		r.WritesPerSecond = 100
	}
	if r.BytesPerSecond <= 0 {
		r.BytesPerSecond = 4 << 20
	}
	orElse(&r.WriteBurst, 500)
	orElse(&r.ByteBurst, 32<<20)
	orElse(&r.Streams, 1000)
	return r
}

// isWrite reports whether a method is one that Rates count as a write.
func isWrite(h handler) bool {
	switch h.scope {
	case parley.ScopeWrite, parley.ScopeCreate, parley.ScopeClaim, parley.ScopeApprove:
		return true
	}
	return h.name == parley.MethodCreateToken || h.name == parley.MethodCreateTicket
}

// write counts a write of so many bytes, or refuses it and counts nothing. A write of more bytes than may come at once costs as many as
// may: it passes when nothing was written for a while, and never waits for ever.
func (r *rates) write(p *hub.Principal, bytes int) error { return r.take(p, 1, bytes) }

// copied counts the bytes that a write copies in the hub beside those that it brings, or refuses it as write does.
func (r *rates) copied(p *hub.Principal, bytes int) error { return r.take(p, 0, bytes) }

func (r *rates) take(p *hub.Principal, calls, bytes int) error {
	if r == nil {
		return nil
	}
	var wait time.Duration
	r.tokens.use(p.Account, func(u *use) {
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
		Err: parley.ErrRateLimited, Message: "the token writes faster than this hub allows", RetryAfterMs: max((wait + time.Millisecond - 1).Milliseconds(), 1),
		Expected: fmt.Sprintf("%g calls and %.0f bytes a second", r.bounds.WritesPerSecond, r.bounds.BytesPerSecond),
	}
}

// stream counts a subscription or an SSE stream until release is called, once; or refuses it.
func (r *rates) stream(p *hub.Principal) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	var held *use
	r.tokens.use(p.Account, func(u *use) {
		if u.streams < r.bounds.Streams {
			u.streams++
			held = u
		}
	})
	if held == nil {
		return nil, &parley.Error{
			Err: parley.ErrRateLimited, Message: fmt.Sprintf("the token has %d streams open", r.bounds.Streams), RetryAfterMs: 1000,
		}
	}
	return func() {
		r.tokens.mu.Lock()
		defer r.tokens.mu.Unlock()
		held.streams--
	}, nil
}
