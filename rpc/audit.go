package rpc

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
	// A token that comes with every request is told once in useTold for each id and address. Of these maxTold are kept in mind; more are told
	// each time.
	useTold = time.Hour
	maxTold = 65_536
	// toldRefusals of one address are told at once, and one a second after that. The others are counted.
	toldRefusals = 20
	// maxHostile bounds what others wrote, in bytes as written.
	maxHostile = 80
)

// audit writes down who was let in, who was not, and whose token ended: never with a token, ticket or secret.
type audit struct {
	log *slog.Logger
	// granting and refusing are the levels of its lines.
	granting, refusing slog.Level

	uses     *ledger[usedBy, time.Time]
	refusals *ledger[netip.Prefix, sampled]
	leftOut  atomic.Int64 // refusals that were counted and not told yet
}

// usedBy is a token that speaks as an id from an address.
type usedBy struct {
	tokenID, agent string
	from           netip.Prefix
}

// sampled are the refusals of one address. They are guarded by their ledger.
type sampled struct {
	told    *rate.Limiter
	leftOut int64
}

func newAudit(o *Options) *audit {
	a := &audit{log: o.Audit, granting: slog.LevelInfo, refusing: slog.LevelWarn}
	if a.log == nil {
		a.log, a.granting, a.refusing = o.Logger, slog.LevelDebug, slog.LevelDebug
	}
	a.uses = newLedger[usedBy](maxTold, func() *time.Time { return new(time.Time) }, func(t *time.Time) bool { return time.Since(*t) >= useTold })
	a.refusals = newLedger[netip.Prefix](maxAddresses,
		func() *sampled { return &sampled{told: rate.NewLimiter(1, toldRefusals)} },
		func(s *sampled) bool { return s.leftOut == 0 && s.told.Tokens() >= toldRefusals })
	return a
}

// refusal is one line about what was refused. What is empty is left out.
type refusal struct {
	event          string
	from           netip.Addr
	agent, tokenID string
	method         string
	err            error
	what           string // that somebody has sent
}

func refusedLogin(v visitor, agentID, method string, err error) refusal {
	event := "login_refused"
	if parley.ErrorRowOf(err).Err == parley.ErrForbidden {
		event = "agent_refused"
	}
	return refusal{event: event, from: v.from, agent: agentID, method: method, err: err}
}

// refused writes a line about a refusal, unless its address has had too many.
func (a *audit) refused(r refusal) {
	tell, left := false, int64(0)
	a.refusals.use(neighbourhood(r.from), func(s *sampled) {
		if tell = s.told.Allow(); !tell {
			s.leftOut++
			a.leftOut.Add(1)
			return
		}
		left, s.leftOut = s.leftOut, 0
		a.leftOut.Add(-left)
	})
	if !tell {
		return
	}
	attrs := attributes(r.from, r.agent, r.tokenID, r.method)
	attrs = append(attrs, slog.String("reason", parley.ErrorRowOf(r.err).Reason()), slog.String("message", hostile(parley.ToWire(r.err).Message)))
	if r.what != "" {
		attrs = append(attrs, slog.String("what", hostile(r.what)))
	}
	if left > 0 {
		attrs = append(attrs, slog.Int64("leftOut", left))
	}
	a.line(a.refusing, r.event, attrs)
}

// report tells how many refusals were left out of which addresses that are quiet now.
func (a *audit) report() {
	if a.leftOut.Load() == 0 {
		return
	}
	type count struct {
		from netip.Prefix
		n    int64
	}
	var counts []count
	a.refusals.each(func(from netip.Prefix, s *sampled) {
		if s.leftOut > 0 && s.told.Allow() {
			counts = append(counts, count{from, s.leftOut})
			a.leftOut.Add(-s.leftOut)
			s.leftOut = 0
		}
	})
	for _, c := range counts {
		a.line(a.refusing, "refusals_left_out", []slog.Attr{slog.String("remote", c.from.String()), slog.Int64("leftOut", c.n)})
	}
}

// granted writes that a token was taken: always where it was shown for a socket, and now and then where it comes with every request.
func (a *audit) granted(p *hub.Principal, from netip.Addr, method string) {
	if method == "" && !a.toBeTold(usedBy{p.TokenID, p.AgentID, neighbourhood(from)}) {
		return
	}
	a.line(a.granting, "authenticated", attributes(from, p.AgentID, p.TokenID, method))
}

func (a *audit) toBeTold(u usedBy) (tell bool) {
	own := a.uses.use(u, func(last *time.Time) {
		if tell = time.Since(*last) >= useTold; tell {
			*last = time.Now()
		}
	})
	return tell || !own // rather too often than never: nobody shall hide behind a crowd
}

// callRefused writes of a call that the hub itself has forbidden: one for more than the caller's token or place allows.
func (a *audit) callRefused(c *call, err error) {
	if errors.Is(err, parley.ErrForbidden) {
		a.refused(refusal{event: "call_refused", from: c.from(), agent: c.principal.AgentID, tokenID: c.principal.TokenID, method: c.handler.name, err: err})
	}
}

func (a *audit) tokenCreated(c *call, q *parley.CreateTokenParams, r parley.CreateTokenResult) {
	attrs := attributes(c.from(), c.principal.AgentID, c.principal.TokenID, c.handler.name)
	a.line(a.granting, "token_created", append(attrs, slog.String("madeTokenId", hostile(r.TokenID)), slog.String("madeFor", hostile(q.AgentID))))
}

func (a *audit) tokensRevoked(c *call, _ *parley.RevokeTokenParams, r parley.RevokeTokenResult) {
	for _, id := range r.Revoked {
		attrs := attributes(c.from(), c.principal.AgentID, c.principal.TokenID, c.handler.name)
		a.line(a.granting, "token_revoked", append(attrs, slog.String("revokedTokenId", hostile(id))))
	}
}

func (a *audit) ticketCreated(c *call) {
	a.line(a.granting, "ticket_created", attributes(c.from(), c.principal.AgentID, c.principal.TokenID, c.handler.name))
}

func (a *audit) line(level slog.Level, event string, attrs []slog.Attr) {
	a.log.LogAttrs(context.Background(), level, "audit", append([]slog.Attr{slog.String("event", event)}, attrs...)...)
}

func attributes(from netip.Addr, agent, tokenID, method string) []slog.Attr {
	var attrs []slog.Attr
	if from.IsValid() {
		attrs = append(attrs, slog.String("remote", from.String()))
	}
	for _, a := range []struct{ name, value string }{{"agent", agent}, {"tokenId", tokenID}, {"method", method}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.name, hostile(a.value)))
		}
	}
	return attrs
}

// hostile makes what others wrote fit for a log: short, on one line, printable, and without anything that looks like a token that was put in the
// wrong place.
func hostile(text string) string {
	for _, secret := range []string{"plt_", ticketPrefix, "eyJ"} {
		if strings.Contains(text, secret) {
			return "(looks like a token)"
		}
	}
	if len(text) > maxHostile {
		text = strings.ToValidUTF8(text[:maxHostile], "") + "..."
	}
	quoted := strconv.QuoteToASCII(text)
	if len(quoted) == len(text)+2 {
		return text
	}
	return quoted
}
