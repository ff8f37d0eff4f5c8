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
	"github.com/parleyhub/parley/internal/limits"
)

// algorithms are the signature algorithms of good tokens. All of them use a public key.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// errRefused is the answer to every bad token.
var errRefused = parley.Refuse(parley.ErrUnauthenticated, "the token is not valid",
	"a token of the issuer for this hub")

// refusal is errRefused with a reason for the audit log, which the caller does not learn.
type refusal string

func (r refusal) Error() string       { return errRefused.Error() }
func (r refusal) Unwrap() error       { return errRefused }
func (r refusal) AuditReason() string { return string(r) }

// The reasons of refusals. They contain nothing of the token.
const (
	errMalformed     refusal = "the token is not a signed JWT"
	errAlgorithm     refusal = "the signature algorithm is not accepted"
	errType          refusal = "the type of the token is not that of a credential"
	errExpired       refusal = "the token has expired"
	errExpiry        refusal = "the claim exp is missing or invalid"
	errNotYet        refusal = "the token is not valid yet"
	errIssuer        refusal = "the token is of another issuer"
	errAudience      refusal = "the token is for another audience"
	errSignature     refusal = "the signature does not match a key of the issuer"
	errSubject       refusal = "the claim sub is missing or empty, or not a text"
	errParticipant   refusal = "the claim with the participant is missing or empty, or not a text"
	errEmail         refusal = "the email address is not verified"
	errScopes        refusal = "the claim with the scopes is not a text or a list of texts"
	errWorkspaces    refusal = "the claim with the workspaces is not a text or a list of texts"
	errWorkspaceMany refusal = "the claim with the workspaces has too many of them"
)

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
	if err != nil {
		return hub.Identity{}, err
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
	if err != nil || len(signed.Signatures) != 1 {
		if errors.As(err, new(*jose.ErrUnexpectedSignatureAlgorithm)) {
			return nil, errAlgorithm
		}
		return nil, errMalformed
	}
	if !isCredential(signed.Signatures[0].Header) {
		return nil, errType
	}
	claims, err := v.parseClaims(signed.UnsafePayloadWithoutVerification())
	if err != nil {
		return nil, err
	}
	if err := v.checkClaims(claims); err != nil {
		return nil, err
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
		return nil, errSignature
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
		return nil, errMalformed
	}
	expiry, ok := c.time("exp")
	if !ok {
		return nil, errExpiry
	}
	c.expiry = expiry.Add(v.opts.Leeway)
	return c, nil
}

// checkClaims checks the period, the issuer and the audience of a token.
func (v *verifier) checkClaims(c *tokenClaims) error {
	now := v.opts.Now()
	if !now.Before(c.expiry) {
		return errExpired
	}
	if _, given := c.all["nbf"]; given {
		if begins, ok := c.time("nbf"); !ok || now.Add(v.opts.Leeway).Before(begins) {
			return errNotYet
		}
	}
	switch {
	case c.text("iss") != v.opts.Issuer:
		return errIssuer
	case !slices.Contains(c.list("aud"), v.opts.Audience):
		return errAudience
	}
	return nil
}

// identity returns the identity that the claims describe.
func (v *verifier) identity(c *tokenClaims) (hub.Identity, error) {
	agent, subject := c.text(v.opts.AgentClaim), c.text("sub")
	switch {
	case subject == "":
		return hub.Identity{}, errSubject
	case agent == "":
		return hub.Identity{}, errParticipant
	case v.opts.AgentClaim == "email" && !c.isEmailVerified():
		return hub.Identity{}, errEmail
	}
	scopes, err := v.scopes(c)
	if err != nil {
		return hub.Identity{}, err
	}
	workspaces, err := v.workspaces(c)
	if err != nil {
		return hub.Identity{}, err
	}
	return hub.Identity{
		TokenID: tokenID(v.opts.Issuer, subject, c.text("jti")), Account: tokenID(v.opts.Issuer, subject),
		Agents: []string{participantID(c.all[v.opts.AgentClaim], agent)},
		Scopes: scopes, Workspaces: workspaces, ExpiresAt: c.expiry,
	}, nil
}

// isEmailVerified reports whether the issuer does not state that the address is unverified (OpenID
// Connect Core 1.0, section 5.1). Some issuers write the claim as a text.
func (c *tokenClaims) isEmailVerified() bool {
	claim, given := c.all["email_verified"]
	return !given || string(claim) == "true" || c.text("email_verified") == "true"
}

// tokenID returns an id for a token, or for all tokens of a subject, which does not reveal its claims.
func tokenID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "oidc:" + hex.EncodeToString(sum[:12])
}

// scopes returns the words of the token claim that are scopes which the issuer may grant; nil for a
// missing claim. It refuses a claim that cannot be read, because it may narrow the rights.
func (v *verifier) scopes(c *tokenClaims) (scopes []parley.Scope, err error) {
	words, ok := c.words(v.opts.ScopeClaim)
	if !ok {
		return nil, errScopes
	}
	for _, word := range words {
		if s := parley.Scope(word); v.mayGrant(s) && !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes, nil
}

// workspaces returns the words of the token claim that are names of workspaces; nil without the option.
func (v *verifier) workspaces(c *tokenClaims) (workspaces []string, err error) {
	if v.opts.WorkspaceClaim == "" {
		return nil, nil
	}
	words, ok := c.words(v.opts.WorkspaceClaim)
	if !ok {
		return nil, errWorkspaces
	}
	for _, word := range words {
		if parley.ValidWorkspace(word) && !slices.Contains(workspaces, word) {
			workspaces = append(workspaces, word)
		}
	}
	if len(workspaces) > limits.MaxWorkspaces {
		return nil, errWorkspaceMany
	}
	return workspaces, nil
}

// words returns the words of a claim that is missing, a text with spaces, or a list of such texts. It
// returns false for any other claim.
func (c *tokenClaims) words(name string) (words []string, ok bool) {
	claim, given := c.all[name]
	entries := c.list(name)
	if given && entries == nil && string(claim) != "null" && string(claim) != `""` {
		return nil, false
	}
	for _, entry := range entries {
		words = append(words, strings.Fields(entry)...)
	}
	return words, true
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
