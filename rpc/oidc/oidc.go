package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// algorithms are those that a token may be signed with: what is verified with a public key, and nothing else.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// errRefused is the one answer to every token that is not good.
var errRefused = parley.Refuse(parley.ErrUnauthenticated, "the token is not valid", "a token of the issuer for this hub")

// verifier takes the tokens of one issuer.
type verifier struct {
	opts Options
	keys *keys
}

var _ hub.Verifier = (*verifier)(nil)

// New makes a verifier. The issuer is not asked before the first token comes.
func New(_ context.Context, o Options) (hub.Verifier, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &verifier{opts: o, keys: newKeys(o)}, nil
}

// Verify gives the identity of a token of the issuer.
func (v *verifier) Verify(ctx context.Context, token string) (hub.Identity, error) {
	claims, err := v.claims(ctx, token)
	if errors.Is(err, parley.ErrUnavailable) {
		return hub.Identity{}, err
	}
	if err != nil {
		return hub.Identity{}, errRefused
	}
	return v.identity(claims)
}

// claims are what a token says.
type claims struct {
	expiry time.Time // with the leeway
	all    map[string]json.RawMessage
}

// claims looks at everything that costs nothing before it asks for a key: so the issuer is asked for tokens only that could be good.
func (v *verifier) claims(ctx context.Context, token string) (*claims, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 || !isCredential(signed.Signatures[0].Header) {
		return nil, errRefused
	}
	promised, err := v.read(signed.UnsafePayloadWithoutVerification())
	if err != nil || !v.inTime(promised) || promised.text("iss") != v.opts.Issuer || !slices.Contains(promised.list("aud"), v.opts.Audience) {
		return nil, errRefused
	}
	found, err := v.keys.find(ctx, signed.Signatures[0].Header)
	if err != nil {
		return nil, err
	}
	algs := make([]string, 0, len(algorithms))
	for _, a := range algorithms {
		algs = append(algs, string(a))
	}
	_, err = oidc.NewVerifier(v.opts.Issuer, &oidc.StaticKeySet{PublicKeys: found}, &oidc.Config{
		ClientID: v.opts.Audience, SupportedSigningAlgs: algs, SkipExpiryCheck: true, // inTime has, with another leeway
	}).Verify(ctx, token)
	if err != nil {
		return nil, errRefused
	}
	return promised, nil
}

// isCredential reports whether the type of a token, where it has one, is that of a token to show: an issuer signs others with the same keys, such as
// those that tell of a logout.
func isCredential(header jose.Header) bool {
	typ, given := header.ExtraHeaders[jose.HeaderType]
	if !given || typ == nil {
		return true
	}
	text, _ := typ.(string)
	switch strings.TrimPrefix(strings.ToLower(text), "application/") {
	case "jwt", "at+jwt":
		return true
	}
	return false
}

// read reads the payload of a token.
func (v *verifier) read(payload []byte) (*claims, error) {
	c := &claims{}
	if err := json.Unmarshal(payload, &c.all); err != nil || c.all == nil {
		return nil, errRefused
	}
	expiry, ok := c.time("exp")
	if !ok {
		return nil, errRefused
	}
	c.expiry = expiry.Add(v.opts.Leeway)
	return c, nil
}

// inTime reports whether a token is valid now.
func (v *verifier) inTime(c *claims) bool {
	now := v.opts.Now()
	if !now.Before(c.expiry) {
		return false
	}
	if _, given := c.all["nbf"]; !given {
		return true
	}
	begins, ok := c.time("nbf")
	return ok && !now.Add(v.opts.Leeway).Before(begins)
}

// identity makes of the claims what a hub understands.
func (v *verifier) identity(c *claims) (hub.Identity, error) {
	agent, subject := c.text(v.opts.AgentClaim), c.text("sub")
	scopes, ok := v.scopes(c)
	if subject == "" || !ok || !parley.ValidParticipantID(agent) {
		return hub.Identity{}, errRefused
	}
	return hub.Identity{
		TokenID: tokenID(v.opts.Issuer, subject, c.text("jti")), Account: tokenID(v.opts.Issuer, subject), Agents: []string{agent}, Scopes: scopes, ExpiresAt: c.expiry,
	}, nil
}

// tokenID names a token, or all of a subject, without telling what it says.
func tokenID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "oidc:" + hex.EncodeToString(sum[:12])
}

// scopes gives the words of the claim that are scopes which the issuer may give; nil where there is none. A claim that cannot be read gives
// nothing: what it was to narrow shall not be wide.
func (v *verifier) scopes(c *claims) (scopes []parley.Scope, ok bool) {
	claim, given := c.all[v.opts.ScopeClaim]
	entries := c.list(v.opts.ScopeClaim)
	if given && entries == nil && string(claim) != "null" && string(claim) != `""` {
		return nil, false
	}
	for _, entry := range entries {
		for word := range strings.FieldsSeq(entry) {
			if s := parley.Scope(word); v.gives(s) && !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return scopes, true
}

// gives reports whether a word is a scope that the issuer may give.
func (v *verifier) gives(s parley.Scope) bool {
	return slices.Contains(parley.Scopes, s) && (s != parley.ScopeAdmin || v.opts.AllowAdmin)
}

// text gives a claim that is a string; empty for any other.
func (c *claims) text(name string) string {
	var s string
	if json.Unmarshal(c.all[name], &s) != nil {
		return ""
	}
	return s
}

// list gives a claim that is a string or a list of strings.
func (c *claims) list(name string) []string {
	if s := c.text(name); s != "" {
		return []string{s}
	}
	var list []string
	if json.Unmarshal(c.all[name], &list) != nil {
		return nil
	}
	return list
}

// maxTime is the last second that a claim may name: later ones do not fit a time.
const maxTime = 1 << 38

// time gives a claim that is a time: seconds since 1970, perhaps with a fraction.
func (c *claims) time(name string) (time.Time, bool) {
	var seconds float64
	if json.Unmarshal(c.all[name], &seconds) != nil || string(c.all[name]) == "null" || seconds < 0 || seconds > maxTime {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}
