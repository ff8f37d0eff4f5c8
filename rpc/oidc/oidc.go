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

// algorithms are the signature algorithms of good tokens. All of them use a public key.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// errRefused is the answer to every bad token.
var errRefused = parley.Refuse(parley.ErrUnauthenticated, "the token is not valid",
	"a token of the issuer for this hub")

// verifier verifies the tokens of one issuer.
type verifier struct {
	opts Options
	keys *keys
}

var _ hub.Verifier = (*verifier)(nil)

// New returns a verifier. It asks the issuer when the first token arrives.
func New(_ context.Context, o Options) (hub.Verifier, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &verifier{opts: o, keys: newKeys(o)}, nil
}

// Verify returns the identity of a token of the issuer. It returns parley.ErrUnauthenticated for a bad
// token, and parley.ErrUnavailable if the keys of the issuer are not known.
func (v *verifier) Verify(ctx context.Context, token string) (hub.Identity, error) {
	claims, err := v.verifyClaims(ctx, token)
	if errors.Is(err, parley.ErrUnavailable) {
		return hub.Identity{}, err
	}
	if err != nil {
		return hub.Identity{}, errRefused
	}
	return v.identity(claims)
}

// tokenClaims are the payload of a token.
type tokenClaims struct {
	expiry time.Time // with the leeway
	all    map[string]json.RawMessage
}

// verifyClaims returns the claims of a good token. It checks everything else before it asks for a key,
// so the issuer is asked only for tokens that could be good.
func (v *verifier) verifyClaims(ctx context.Context, token string) (*tokenClaims, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 || !isCredential(signed.Signatures[0].Header) {
		return nil, errRefused
	}
	claims, err := v.parseClaims(signed.UnsafePayloadWithoutVerification())
	if err != nil || !v.isCurrent(claims) || claims.text("iss") != v.opts.Issuer ||
		!slices.Contains(claims.list("aud"), v.opts.Audience) {
		return nil, errRefused
	}
	found, err := v.keys.findKeys(ctx, signed.Signatures[0].Header)
	if err != nil {
		return nil, err
	}
	algs := make([]string, 0, len(algorithms))
	for _, a := range algorithms {
		algs = append(algs, string(a))
	}
	_, err = oidc.NewVerifier(v.opts.Issuer, &oidc.StaticKeySet{PublicKeys: found}, &oidc.Config{
		ClientID: v.opts.Audience, SupportedSigningAlgs: algs, SkipExpiryCheck: true, // isCurrent checks it
	}).Verify(ctx, token)
	if err != nil {
		return nil, errRefused
	}
	return claims, nil
}

// isCredential reports whether the type of a token, if it has one, is that of a credential. An issuer
// signs other tokens with the same keys, such as notifications of a logout.
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

// parseClaims reads the payload of a token.
func (v *verifier) parseClaims(payload []byte) (*tokenClaims, error) {
	c := &tokenClaims{}
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

// isCurrent reports whether a token is valid now.
func (v *verifier) isCurrent(c *tokenClaims) bool {
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

// identity returns the identity that the claims describe.
func (v *verifier) identity(c *tokenClaims) (hub.Identity, error) {
	agent, subject := c.text(v.opts.AgentClaim), c.text("sub")
	scopes, ok := v.scopes(c)
	if subject == "" || !ok || !parley.ValidParticipantID(agent) {
		return hub.Identity{}, errRefused
	}
	return hub.Identity{
		TokenID: tokenID(v.opts.Issuer, subject, c.text("jti")), Account: tokenID(v.opts.Issuer, subject),
		Agents: []string{agent}, Scopes: scopes, ExpiresAt: c.expiry,
	}, nil
}

// tokenID returns an id for a token, or for all tokens of a subject, which does not reveal its claims.
func tokenID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "oidc:" + hex.EncodeToString(sum[:12])
}

// scopes returns the words of the token claim that are scopes which the issuer may grant; nil for a
// missing claim. It returns false for a claim that cannot be read, because it may narrow the rights.
func (v *verifier) scopes(c *tokenClaims) (scopes []parley.Scope, ok bool) {
	claim, given := c.all[v.opts.ScopeClaim]
	entries := c.list(v.opts.ScopeClaim)
	if given && entries == nil && string(claim) != "null" && string(claim) != `""` {
		return nil, false
	}
	for _, entry := range entries {
		for word := range strings.FieldsSeq(entry) {
			if s := parley.Scope(word); v.mayGrant(s) && !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	return scopes, true
}

// mayGrant reports whether a word is a scope that the issuer may grant.
func (v *verifier) mayGrant(s parley.Scope) bool {
	return slices.Contains(parley.Scopes, s) && (s != parley.ScopeAdmin || v.opts.AllowAdmin)
}

// text returns a claim that is a string; empty for any other.
func (c *tokenClaims) text(name string) string {
	var s string
	if json.Unmarshal(c.all[name], &s) != nil {
		return ""
	}
	return s
}

// list returns a claim that is a string or a list of strings.
func (c *tokenClaims) list(name string) []string {
	if s := c.text(name); s != "" {
		return []string{s}
	}
	var list []string
	if json.Unmarshal(c.all[name], &list) != nil {
		return nil
	}
	return list
}

// maxTime is the last second in a claim: later ones do not fit a time.Time.
const maxTime = 1 << 38

// time returns a claim that is a time: seconds since 1970, perhaps with a fraction.
func (c *tokenClaims) time(name string) (time.Time, bool) {
	var seconds float64
	if json.Unmarshal(c.all[name], &seconds) != nil || string(c.all[name]) == "null" || seconds < 0 || seconds > maxTime {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}
