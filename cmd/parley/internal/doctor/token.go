package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/methods"
)

const (
	// clockOff is the largest difference between the clocks of hub and client without a warning.
	clockOff = 2 * time.Second
	// tokenSoon is how long before its end a token is warned of.
	tokenSoon = 24 * time.Hour
	// maxToken is longer than any token.
	maxToken = 8 << 10
)

// token shows PARLEY_TOKEN to the hub.
func (h *hubCheck) token(ctx context.Context, check string) string {
	token := os.Getenv(cli.EnvToken)
	if token == "" {
		h.warn(check, cli.EnvToken+" is not set, and every command that asks the hub needs it",
			"'parley token create' makes one")
		return "there is no token"
	}
	if wrong := tokenFault(token); wrong != "" {
		h.fail(check, cli.EnvToken+" "+wrong, "copy it again, without quotes or spaces")
		return "the token is not whole"
	}
	if err := h.Authenticate(ctx, os.Getenv(cli.EnvAgent), "parley doctor"); err != nil {
		f := exit.FailureOf(ctx, err)
		h.fail(check, "the hub refuses the token: "+f.What, f.Hint)
		return "the token was refused"
	}
	h.ok(check, "the hub takes it; it speaks as "+h.Hub.AgentID)
	return ""
}

// tokenFault says what is wrong with the form of a token, without a part of it.
func tokenFault(token string) string {
	switch {
	case strings.ContainsFunc(token, unicode.IsSpace):
		return "has white space in it"
	case strings.ContainsAny(token, `"'`),
		strings.ContainsFunc(token, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }):
		return "has characters in it that no token has"
	case len(token) > maxToken:
		return "is too long"
	}
	if rest, ok := strings.CutPrefix(token, cli.TokenPrefix); ok {
		if id, secret, _ := strings.Cut(rest, "_"); id == "" || secret == "" {
			return "is cut off: a token is plt_<id>_<secret>"
		}
	}
	return ""
}

// expiry looks the token up in the list of those that the caller may revoke, where its own is.
func (h *hubCheck) expiry(ctx context.Context, check string) string {
	rest, made := strings.CutPrefix(os.Getenv(cli.EnvToken), cli.TokenPrefix)
	id, _, _ := strings.Cut(rest, "_")
	if !made {
		h.skip(check, "the token was not made by this hub")
		return ""
	}
	own, err := h.FindToken(ctx, id)
	switch {
	case err != nil:
		h.skip(check, "the hub does not list tokens: "+exit.FailureOf(ctx, err).What)
	case own == nil:
		h.skip(check, "the token is the hub's first, or the hub does not list it")
	default:
		h.reportExpiry(check, own)
	}
	return ""
}

func (h *hubCheck) reportExpiry(check string, own *parley.TokenInfo) {
	found := fmt.Sprintf("token %s has the scopes %s", own.TokenID, strings.Join(cli.Names(own.Scopes...), ", "))
	if len(own.Conversations) > 0 {
		found += fmt.Sprintf(", in %d conversations only", len(own.Conversations))
	}
	if own.ExpiresAt == 0 {
		h.ok(check, found+", and does not end")
		return
	}
	found += ", and ends on " + own.ExpiresAt.String()
	if left := time.Until(own.ExpiresAt.Time()); left < tokenSoon {
		h.warn(check, found,
			fmt.Sprintf("in %s: make the next one now", strings.TrimSuffix(left.Round(time.Minute).String(), "0s")))
		return
	}
	h.ok(check, found)
}

// clock compares the hub's clock with that of this machine, as exactly as the way there and back
// allows.
func (h *hubCheck) clock(ctx context.Context, check string) string {
	var pong parley.PingResult
	sent := time.Now()
	err := h.Call(ctx, methods.Ping, parley.PingParams{}, &pong)
	if err != nil {
		h.fail(check, cli.ExplainTimeout(ctx, err).Error(), "")
		return "the hub does not answer any more"
	}
	trip := time.Since(sent)
	ahead := time.UnixMilli(pong.NowMs).Sub(sent.Add(trip / 2)).Round(time.Millisecond)
	found := fmt.Sprintf("the hub's clock is %s ahead of this machine's", ahead)
	switch {
	case ahead == 0:
		found = "the clocks of hub and machine agree"
	case ahead < 0:
		found = fmt.Sprintf("the hub's clock is %s behind this machine's", -ahead)
	}
	if ahead.Abs() > clockOff+trip/2 {
		h.warn(check, found, "let NTP set both: expiry and deadlines are in hub time")
		return ""
	}
	h.ok(check, fmt.Sprintf("%s; an answer takes %s", found, trip.Round(10*time.Microsecond)))
	return ""
}

// version compares programs and protocols.
func (h *hubCheck) version(_ context.Context, check string) string {
	hub, own := h.Hub.Hub.Version, cli.Version()
	switch {
	case h.Hub.ProtocolVersion != parley.ProtocolVersion:
		h.fail(check,
			fmt.Sprintf("the hub speaks version %s of the protocol, this program %s", h.Hub.ProtocolVersion,
				parley.ProtocolVersion), "use programs of one release")
	case hub != own:
		h.warn(check, fmt.Sprintf("the hub is %s, this program %s", hub, own), "update the older one when you can")
	default:
		h.ok(check, "hub and program are "+own)
	}
	return ""
}
