package admission

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

const (
	// A token that comes with every request is logged once in loginPeriod for each id and address. The
	// audit remembers maxLogins of these; the others are logged each time.
	loginPeriod = time.Hour
	maxLogins   = 65_536
	// Each address has refusalBurst lines for refusals at once, and then one a second. The audit counts
	// the others.
	refusalBurst = 20
	// maxUntrusted bounds text from callers, in bytes before quoting.
	maxUntrusted = 80
)

// Audit logs each login, each refusal and each end of a token. It never logs a token, a ticket or a
// secret.
type Audit struct {
	log             *slog.Logger
	grants, refuses slog.Level

	logins   *table[login, time.Time]
	refusals *table[netip.Prefix, sampler]
	leftOut  atomic.Int64 // refusals that are counted and not logged yet
}

// login is the use of a token for an id from an address.
type login struct {
	tokenID, agent string
	from           netip.Prefix
}

// sampler limits the lines for the refusals of one address. The mu of its table guards it.
type sampler struct {
	lines   *rate.Limiter
	leftOut int64
}

// newAudit logs to out. If out is nil, it logs to log, and grants at level debug.
func newAudit(log, out *slog.Logger) *Audit {
	a := &Audit{log: out, grants: slog.LevelInfo, refuses: slog.LevelWarn}
	if a.log == nil {
		a.log, a.grants = log, slog.LevelDebug
	}
	a.logins = newLogins(maxLogins)
	a.refusals = newTable[netip.Prefix](maxAddresses,
		func() *sampler { return &sampler{lines: rate.NewLimiter(1, refusalBurst)} },
		func(s *sampler) bool { return s.leftOut == 0 && s.lines.Tokens() >= refusalBurst })
	return a
}

func newLogins(most int) *table[login, time.Time] {
	return newTable[login](most, func() *time.Time { return new(time.Time) },
		func(t *time.Time) bool { return time.Since(*t) >= loginPeriod })
}

// Actor is the caller in a line of the audit. Empty fields are left out.
type Actor struct {
	From             netip.Addr
	AgentID, TokenID string
	Method           string
}

// NewActor returns the actor for a call of a method.
func NewActor(p *hub.Principal, from netip.Addr, method string) Actor {
	return Actor{From: from, AgentID: p.AgentID, TokenID: p.TokenID, Method: method}
}

// Refuse logs a refusal, unless the address has too many. input is text of the caller, or empty.
func (a *Audit) Refuse(event string, actor Actor, err error, input string) {
	logged, leftOut := false, int64(0)
	a.refusals.use(networkOf(actor.From), func(s *sampler) {
		if logged = s.lines.Allow(); !logged {
			s.leftOut++
			a.leftOut.Add(1)
			return
		}
		leftOut, s.leftOut = s.leftOut, 0
		a.leftOut.Add(-leftOut)
	})
	if !logged {
		return
	}
	attrs := append(actor.attributes(),
		slog.String("reason", parley.ErrorRowOf(err).Reason()),
		slog.String("message", Untrusted(parley.ToWire(err).Message)))
	if refused := (interface{ AuditReason() string })(nil); errors.As(err, &refused) {
		attrs = append(attrs, slog.String("cause", Untrusted(refused.AuditReason())))
	}
	if input != "" {
		attrs = append(attrs, slog.String("what", Untrusted(input)))
	}
	if leftOut > 0 {
		attrs = append(attrs, slog.Int64("leftOut", leftOut))
	}
	a.writeLine(a.refuses, event, attrs)
}

// ReportLeftOut logs the number of refusals that were left out, for addresses that are quiet again.
func (a *Audit) ReportLeftOut() {
	if a.leftOut.Load() == 0 {
		return
	}
	type count struct {
		from netip.Prefix
		n    int64
	}
	var counts []count
	a.refusals.each(func(from netip.Prefix, s *sampler) {
		if s.leftOut > 0 && s.lines.Allow() {
			counts = append(counts, count{from, s.leftOut})
			a.leftOut.Add(-s.leftOut)
			s.leftOut = 0
		}
	})
	for _, c := range counts {
		a.writeLine(a.refuses, "refusals_left_out",
			[]slog.Attr{slog.String("remote", c.from.String()), slog.Int64("leftOut", c.n)})
	}
}

// GrantLogin logs a login. A token in the headers of requests, with an empty method, is logged now
// and then only.
func (a *Audit) GrantLogin(p *hub.Principal, from netip.Addr, method string) {
	if method == "" && !a.isLoginDue(login{p.TokenID, p.AgentID, networkOf(from)}) {
		return
	}
	a.Grant("authenticated", NewActor(p, from, method))
}

func (a *Audit) isLoginDue(l login) (due bool) {
	own := a.logins.use(l, func(last *time.Time) {
		if due = time.Since(*last) >= loginPeriod; due {
			*last = time.Now()
		}
	})
	return due || !own // rather too often than never: no one can hide behind many others
}

// Grant logs an event that was allowed.
func (a *Audit) Grant(event string, actor Actor, attrs ...slog.Attr) {
	a.writeLine(a.grants, event, append(actor.attributes(), attrs...))
}

func (a *Audit) writeLine(level slog.Level, event string, attrs []slog.Attr) {
	a.log.LogAttrs(context.Background(), level, "audit", append([]slog.Attr{slog.String("event", event)}, attrs...)...)
}

func (r Actor) attributes() []slog.Attr {
	var attrs []slog.Attr
	if r.From.IsValid() {
		attrs = append(attrs, slog.String("remote", r.From.String()))
	}
	for _, a := range []struct{ name, value string }{
		{"agent", r.AgentID}, {"tokenId", r.TokenID}, {"method", r.Method},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.name, Untrusted(a.value)))
		}
	}
	return attrs
}

// Untrusted makes text of a caller safe for a log: short, on one line, printable, and without
// anything that looks like a token in the wrong place.
func Untrusted(text string) string {
	for _, secret := range []string{"plt_", ticketPrefix, "eyJ"} {
		if strings.Contains(text, secret) {
			return "(looks like a token)"
		}
	}
	if len(text) > maxUntrusted {
		text = strings.ToValidUTF8(text[:maxUntrusted], "") + "..."
	}
	quoted := strconv.QuoteToASCII(text)
	if len(quoted) == len(text)+2 {
		return text
	}
	return quoted
}
