package oidc_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc/oidc"
)

const audience = "https://hub.example.com"

// now is when the tests are. It moves by hand.
type now struct{ at atomic.Int64 }

func newNow() *now {
	n := &now{}
	n.at.Store(1_800_000_000)
	return n
}

func (n *now) time() time.Time { return time.Unix(n.at.Load(), 0) }

func newVerifier(t *testing.T, i *issuer, n *now, change func(*oidc.Options)) hub.Verifier {
	t.Helper()
	o := oidc.Options{Issuer: i.http.URL, Audience: audience, Now: n.time}
	if change != nil {
		change(&o)
	}
	v, err := oidc.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// claims are good ones, changed by pairs of names and values; nil takes a claim out.
func (i *issuer) claims(n *now, more ...any) jwt.MapClaims {
	c := jwt.MapClaims{"iss": i.http.URL, "sub": "alice", "aud": audience, "exp": n.at.Load() + 600, "iat": n.at.Load()}
	for k := 0; k < len(more); k += 2 {
		if more[k+1] == nil {
			delete(c, more[k].(string))
		} else {
			c[more[k].(string)] = more[k+1]
		}
	}
	return c
}

// TestGoodTokens: every asymmetric algorithm, and what the claims mean.
func TestGoodTokens(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs, ec, ed := rsaKey(t, "rs"), ecKey(t, "ec"), edKey(t, "ed")
	i.publish(rs, "sig")
	i.publish(ec, "")
	i.publish(ed, "sig")
	v := newVerifier(t, i, n, nil)
	for _, c := range []struct {
		name   string
		token  string
		scopes []parley.Scope
	}{
		{"RS256", rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil), nil},
		{"RS512", rs.sign(t, jwt.SigningMethodRS512, i.claims(n), nil), nil},
		{"PS256", rs.sign(t, jwt.SigningMethodPS256, i.claims(n), nil), nil},
		{"ES256", ec.sign(t, jwt.SigningMethodES256, i.claims(n), nil), nil},
		{"EdDSA", ed.sign(t, jwt.SigningMethodEdDSA, i.claims(n), nil), nil},
		{"no kid", signWith(t, jwt.SigningMethodES256, ec.key, "", i.claims(n), nil), nil},
		{"many audiences", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "aud", []string{"x", audience}), nil), nil},
		{"scopes", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", "openid read trace profile read"), nil),
			[]parley.Scope{"read", "trace"}},
		{"a list of scopes", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", []string{"read", "write claim"}), nil),
			[]parley.Scope{"read", "write", "claim"}},
		{"admin, which no issuer gives unasked", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", "read admin"), nil),
			[]parley.Scope{"read"}},
		{"admin alone", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", []string{"admin"}), nil), nil},
		{"no scope of ours", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", "openid self hub"), nil), nil},
		{"a clock that is behind", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "exp", n.at.Load()-29), nil), nil},
		{"a clock that is ahead", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "nbf", n.at.Load()+30), nil), nil},
		{"an access token", rs.sign(t, jwt.SigningMethodRS256, i.claims(n), map[string]any{"typ": "at+jwt"}), nil},
		{"an access token, by its media type",
			rs.sign(t, jwt.SigningMethodRS256, i.claims(n), map[string]any{"typ": "application/AT+JWT"}), nil},
		{"no type", rs.sign(t, jwt.SigningMethodRS256, i.claims(n), map[string]any{"typ": nil}), nil},
		{"no scopes", rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", json.RawMessage("null")), nil), nil},
		// not looked at
		{"places to look", rs.sign(t, jwt.SigningMethodRS256, i.claims(n),
			map[string]any{"jku": i.http.URL + "/evil", "x5u": i.http.URL + "/evil"}), nil},
	} {
		id, err := v.Verify(t.Context(), c.token)
		if err != nil || !slices.Equal(id.Agents, []string{"alice"}) || !slices.Equal(id.Scopes, c.scopes) ||
			id.ExpiresAt.Before(n.time()) {
			t.Errorf("%s: %+v, %v", c.name, id, err)
		}
		if strings.Contains(c.token, id.TokenID) || !strings.HasPrefix(id.TokenID, "oidc:") || len(id.TokenID) != 5+24 {
			t.Errorf("%s: the id is %s", c.name, id.TokenID)
		}
	}
	if configs, keys := i.asked(); configs != 1 || keys != 1 {
		t.Errorf("the issuer was asked %d and %d times", configs, keys)
	}
	first, _ := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "jti", "1"), nil))
	second, _ := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "jti", "2"), nil))
	if first.Account != second.Account || first.Account == "" {
		t.Errorf("two tokens of a subject count under %q and %q", first.Account, second.Account)
	}
	other, _ := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "sub", "bob", "jti", "1"), nil))
	if first.TokenID == second.TokenID || first.TokenID == other.TokenID {
		t.Errorf("ids: %s %s %s", first.TokenID, second.TokenID, other.TokenID)
	}
	if want := n.time().Add(600*time.Second + 30*time.Second); !first.ExpiresAt.Equal(want) {
		t.Errorf("it ends at %v, want %v", first.ExpiresAt, want)
	}
	claim := newVerifier(t, i, n, func(o *oidc.Options) { o.AgentClaim, o.ScopeClaim = "agent", "scp" })
	id, err := claim.Verify(t.Context(),
		rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "sub", "auth0|17", "agent", "clinic", "scp", []string{"read"}), nil))
	if err != nil || id.Agents[0] != "clinic" || !slices.Equal(id.Scopes, []parley.Scope{"read"}) {
		t.Errorf("by other claims: %+v, %v", id, err)
	}
	admins := newVerifier(t, i, n, func(o *oidc.Options) { o.AllowAdmin = true })
	id, err = admins.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", "read admin"), nil))
	if err != nil || !slices.Equal(id.Scopes, []parley.Scope{"read", "admin"}) {
		t.Errorf("where admin is allowed: %+v, %v", id, err)
	}
}

// TestBadTokens: all are refused alike, and none makes the hub ask anybody but the issuer.
func TestBadTokens(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs, ec, encrypts, foreign := rsaKey(t, "rs"), ecKey(t, "ec"), rsaKey(t, "enc"), rsaKey(t, "rs")
	i.publish(rs, "sig")
	i.publish(ec, "sig")
	i.publish(encrypts, "enc")
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		t.Errorf("%s was fetched", r.URL)
	}))
	defer evil.Close()
	v := newVerifier(t, i, n, nil)
	der, err := x509.MarshalPKIXPublicKey(rs.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil)
	parts := strings.Split(good, ".")
	changed := func(more ...any) string {
		b, err := json.Marshal(i.claims(n, more...))
		if err != nil {
			t.Fatal(err)
		}
		return parts[0] + "." + base64.RawURLEncoding.EncodeToString(b) + "." + parts[2]
	}
	r256 := func(header map[string]any, more ...any) string {
		return rs.sign(t, jwt.SigningMethodRS256, i.claims(n, more...), header)
	}
	jwk := map[string]any{"kty": "RSA",
		"n": base64.RawURLEncoding.EncodeToString(foreign.key.Public().(*rsa.PublicKey).N.Bytes()), "e": "AQAB"}
	for name, token := range map[string]string{
		"expired":                    r256(nil, "exp", n.at.Load()-30),
		"no expiry":                  r256(nil, "exp", nil),
		"an expiry that is text":     r256(nil, "exp", "never"),
		"an expiry that is null":     r256(nil, "exp", json.RawMessage("null")),
		"an expiry beyond all time":  r256(nil, "exp", 1e300),
		"not yet":                    r256(nil, "nbf", n.at.Load()+31),
		"not yet, as text":           r256(nil, "nbf", "later"),
		"another issuer":             r256(nil, "iss", evil.URL),
		"the issuer with a slash":    r256(nil, "iss", i.http.URL+"/"),
		"no issuer":                  r256(nil, "iss", nil),
		"another audience":           r256(nil, "aud", "https://other.example.com"),
		"no audience":                r256(nil, "aud", nil),
		"no subject":                 r256(nil, "sub", nil),
		"a subject that is a number": r256(nil, "sub", 17),
		"alg none": signWith(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "rs", i.claims(n),
			nil),
		"alg none, signed":          r256(map[string]any{"alg": "none"}),
		"alg None":                  r256(map[string]any{"alg": "None"}),
		"HS256 with the public key": signWith(t, jwt.SigningMethodHS256, public, "rs", i.claims(n), nil),
		"HS256 with its bytes":      signWith(t, jwt.SigningMethodHS256, der, "rs", i.claims(n), nil),
		"HS256 with nothing":        signWith(t, jwt.SigningMethodHS256, []byte{}, "rs", i.claims(n), nil),
		"ES256 said to be RS256":    ec.sign(t, jwt.SigningMethodES256, i.claims(n), map[string]any{"alg": "RS256"}),
		"another's key, same kid":   foreign.sign(t, jwt.SigningMethodRS256, i.claims(n), nil),
		"the kid of another key":    r256(map[string]any{"kid": "ec"}),
		"an unknown kid":            r256(map[string]any{"kid": "nobody"}),
		"a kid that is a URL": foreign.sign(t, jwt.SigningMethodRS256, i.claims(n),
			map[string]any{"kid": evil.URL + "/keys"}),
		"a kid that is a path": foreign.sign(t, jwt.SigningMethodRS256, i.claims(n),
			map[string]any{"kid": "../../dev/null"}),
		"jku": foreign.sign(t, jwt.SigningMethodRS256, i.claims(n),
			map[string]any{"jku": evil.URL + "/keys"}),
		"x5u": foreign.sign(t, jwt.SigningMethodRS256, i.claims(n),
			map[string]any{"x5u": evil.URL + "/cert"}),
		"its own key":               foreign.sign(t, jwt.SigningMethodRS256, i.claims(n), map[string]any{"jwk": jwk}),
		"a logout token":            r256(map[string]any{"typ": "logout+jwt"}),
		"a proof of possession":     r256(map[string]any{"typ": "application/dpop+jwt"}),
		"a type that is a number":   r256(map[string]any{"typ": 5}),
		"scopes that are a number":  r256(nil, "scope", 5),
		"scopes that are an object": r256(nil, "scope", map[string]any{"read": true}),
		"scopes that are half text": r256(nil, "scope", []any{"read", 5}),
		"a token in a token":        signRaw(t, rs, good),
		"a claim in another case":   signRaw(t, rs, strings.Replace(payload(t, parts[1]), `"sub"`, `"SUB"`, 1)),
		"subjects":                  r256(nil, "sub", []string{"alice"}),
		"an audience in an object":  r256(nil, "aud", map[string]any{"a": audience}),
		"an expiry before all time": r256(nil, "exp", -1),
		"claims with more behind":   signRaw(t, rs, payload(t, parts[1])+"{}"),
		"a payload not in base64":   r256(map[string]any{"crit": []string{"b64"}, "b64": false}),
		"a kid that is a number":    r256(map[string]any{"kid": 5}),
		"crit":                      r256(map[string]any{"crit": []string{"exp"}}),
		"a key for encryption":      encrypts.sign(t, jwt.SigningMethodRS256, i.claims(n), nil),
		"another's claims":          changed("sub", "bob"),
		"no signature":              parts[0] + "." + parts[1] + ".",
		"two parts":                 parts[0] + "." + parts[1],
		"five parts":                good + ".x.y",
		"JSON serialization": fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1],
			parts[2]),
		"nothing":                "",
		"dots":                   "..",
		"no JSON":                "eyJ.eyJ.eyJ",
		"with a space":           good + " ",
		"claims that are a list": signRaw(t, rs, `["x"]`),
		"claims that are null":   signRaw(t, rs, `null`),
	} {
		id, err := v.Verify(t.Context(), token)
		if !errors.Is(err, parley.ErrUnauthenticated) || len(id.Agents) > 0 {
			t.Errorf("%s: %+v, %v", name, id, err)
			continue
		}
		var refused interface{ AuditReason() string }
		if !errors.As(err, &refused) || refused.AuditReason() == "" || strings.Contains(refused.AuditReason(), "eyJ") {
			t.Errorf("%s: %v has no reason for the audit log", name, err)
		}
		if err.Error() != "unauthenticated: the token is not valid (expected a token of the issuer for this hub)" {
			t.Errorf("%s: it tells why: %v", name, err)
		}
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Error(err)
	}
	if configs, keys := i.asked(); configs != 1 || keys > 2 {
		t.Errorf("the issuer was asked %d and %d times", configs, keys)
	}
}

// TestRefusals_Reasons checks that each refusal has its own reason for the audit log.
func TestRefusals_Reasons(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	email := newVerifier(t, i, n, func(o *oidc.Options) { o.AgentClaim = "email" })
	sign := func(more ...any) string { return rs.sign(t, jwt.SigningMethodRS256, i.claims(n, more...), nil) }
	for _, c := range []struct{ token, want string }{
		{"opaque", "not a signed JWT"},
		{signWith(t, jwt.SigningMethodHS256, []byte("secret"), "rs", i.claims(n), nil), "algorithm"},
		{rs.sign(t, jwt.SigningMethodRS256, i.claims(n), map[string]any{"typ": "logout+jwt"}), "type"},
		{sign("exp", n.at.Load()-60), "expired"},
		{sign("exp", nil), "exp is missing"},
		{sign("nbf", n.at.Load()+60), "not valid yet"},
		{sign("iss", "https://other.example.com"), "another issuer"},
		{sign("aud", "https://other.example.com"), "another audience"},
		{rsaKey(t, "rs").sign(t, jwt.SigningMethodRS256, i.claims(n), nil), "signature"},
		{sign("sub", ""), "sub is missing or empty"},
		{sign(), "the participant is missing or empty"},
		{sign("email", "a@example.com", "email_verified", false), "email address is not verified"},
		{sign("email", "a@example.com", "email_verified", "false"), "email address is not verified"},
		{sign("email", "a@example.com", "scope", 5), "the scopes"},
	} {
		_, err := email.Verify(t.Context(), c.token)
		var refused interface{ AuditReason() string }
		if !errors.As(err, &refused) || !strings.Contains(refused.AuditReason(), c.want) {
			t.Errorf("%v with reason %v, expected %q", err, refused, c.want)
		}
	}
	for _, verified := range []any{true, "true", nil} {
		id, err := email.Verify(t.Context(), sign("email", "ann@example.com", "email_verified", verified))
		if err != nil || !strings.HasPrefix(id.Agents[0], "ann-example.com--") {
			t.Errorf("email_verified %v: %+v, %v", verified, id, err)
		}
	}
}

// TestSubjects checks the participant ids of subjects: separate, constant, and not to be chosen.
func TestSubjects(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	v := newVerifier(t, i, n, nil)
	idOf := func(subject any) string {
		t.Helper()
		id, err := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "sub", subject), nil))
		if err != nil || len(id.Agents) != 1 || !parley.ValidParticipantID(id.Agents[0]) {
			t.Fatalf("subject %q: %+v, %v", subject, id, err)
		}
		return id.Agents[0]
	}
	for _, subject := range []string{
		"alice", "Alice", "a", "115812345678901234567", "a.b_c-d", strings.Repeat("x", 64), "x--y",
	} {
		if got := idOf(subject); got != subject {
			t.Errorf("subject %q is participant %q, expected it unchanged", subject, got)
		}
	}
	const auth0 = "auth0-5f7c8ec7c33c6c--bj8mn7g559cc3o5p3i4eqg99nmoff3r3"
	a40 := strings.Repeat("a", 40)
	seen := map[string]any{}
	for _, subject := range []any{
		"auth0|5f7c8ec7c33c6c", "auth0-5f7c8ec7c33c6c", auth0, "hub",
		"ann@example.com", "Ann@example.com", "ann@example.com ",
		"dlvyg+PkAtl/moJtTqbT=", "dlvyg-PkAtl-moJtTqbT-", "https://idp.example/users/1", "https://idp.example/users/1/",
		"\u0430lice", "alice\n", "alice", ".alice", "-", "--", "|", "|||", " ",
		strings.Repeat("x", 65), strings.Repeat("x", 66),
		strings.Repeat("\u00e9", 40), json.RawMessage(`"a\ud800"`), json.RawMessage(`"a\ud801"`), "a\ufffd",
		a40 + "\ufffd", `"` + a40 + `\ufffd"`, json.RawMessage(`"` + a40 + `\ud800"`), `"` + a40 + `\ud800"`,
	} {
		got := idOf(subject)
		if other, twice := seen[got]; twice {
			t.Errorf("subjects %q and %q are both participant %s", subject, other, got)
		}
		seen[got] = subject
		if again := idOf(subject); again != got {
			t.Errorf("subject %q is participant %s and then %s", subject, got, again)
		}
		if again := idOf(got); again == got && got != subject {
			t.Errorf("the subject %s has the id of the subject %q", got, subject)
		}
	}
	if escaped, plain := idOf(json.RawMessage(`"a\ufffd\ud83d\ude00"`)), idOf("a\ufffd\U0001f600"); escaped != plain {
		t.Errorf("one value in two spellings is participant %s and %s", escaped, plain)
	}
	if got := idOf("auth0|5f7c8ec7c33c6c"); got != auth0 { // constant: a new version must not rename participants
		t.Errorf("auth0|5f7c8ec7c33c6c is participant %s, expected %s", got, auth0)
	}
}

// TestWorkspacesOfAClaim checks which workspaces a token may use.
func TestWorkspacesOfAClaim(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	v := newVerifier(t, i, n, func(o *oidc.Options) { o.WorkspaceClaim = "groups" })
	for _, c := range []struct {
		groups any
		want   []string
		bad    bool
	}{
		{nil, nil, false},
		{json.RawMessage("null"), nil, false},
		{"", nil, false},
		{[]string{}, nil, false},
		{"north south", []string{"north", "south"}, false},
		{[]string{"north", "/a path/", "north", "~x"}, []string{"north"}, false},
		{5, nil, true},
		{[]any{"north", 5}, nil, true},
	} {
		id, err := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "groups", c.groups), nil))
		if (err != nil) != c.bad || !slices.Equal(id.Workspaces, c.want) {
			t.Errorf("%v: %v, %v, expected %v", c.groups, id.Workspaces, err, c.want)
		}
	}
}

// payload is the text of the middle part of a token.
func payload(t *testing.T, part string) string {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// signRaw signs a payload that is no claims.
func signRaw(t *testing.T, s signer, payload string) string {
	t.Helper()
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"`+s.kid+`"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(payload))
	h := crypto.SHA256.New()
	h.Write([]byte(head))
	sig, err := s.key.Sign(rand.Reader, h.Sum(nil), crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return head + "." + base64.RawURLEncoding.EncodeToString(sig)
}

// TestIssuersThatAreWrong: an issuer with another name in its configuration, or without usable keys, is
// refused.
func TestIssuersThatAreWrong(t *testing.T) {
	rs := rsaKey(t, "rs")
	for name, change := range map[string]func(*issuer){
		"another name":            func(i *issuer) { i.name = "https://evil.example.com" },
		"keys over plain HTTP":    func(i *issuer) { i.keysAt = "http://keys.example.com/" },
		"keys in a file":          func(i *issuer) { i.keysAt = "file:///etc/passwd" },
		"no keys":                 func(i *issuer) { i.keys = nil },
		"keys that are none":      func(i *issuer) { i.extra = "<html>" },
		"keys without end":        func(i *issuer) { i.extra = strings.Repeat(" ", 2<<20) + `{"keys":[]}` },
		"a secret in their place": func(i *issuer) { i.extra = `{"keys":[{"kty":"oct","kid":"rs","k":"c2VjcmV0"}]}` },
	} {
		i, n := newIssuer(t), newNow()
		i.publish(rs, "sig")
		change(i)
		v := newVerifier(t, i, n, func(o *oidc.Options) { o.HTTPClient = &http.Client{Transport: only{t, i.http.URL}} })
		if _, err := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
		if _, err := v.Verify(t.Context(),
			signWith(t, jwt.SigningMethodHS256, []byte("secret"), "rs", i.claims(n), nil)); err == nil {
			t.Errorf("%s: a secret verifies", name)
		}
	}
	i, n := newIssuer(t), newNow() // redirects are not followed
	elsewhere := newIssuer(t)
	elsewhere.publish(rs, "sig")
	i.http.Config.Handler = http.RedirectHandler(elsewhere.http.URL+"/keys", http.StatusFound)
	if _, err := newVerifier(t, i, n, nil).Verify(t.Context(),
		rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil)); !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("a redirect: %v", err)
	}
	if _, keys := elsewhere.asked(); keys != 0 {
		t.Error("a redirect was followed")
	}
}

// only lets requests to one address through.
type only struct {
	t       *testing.T
	address string
}

func (o only) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.String(), o.address+"/") {
		o.t.Errorf("%s was asked for", r.URL)
		return nil, errors.New("not here")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestOptions(t *testing.T) {
	for _, o := range []oidc.Options{
		{}, {Issuer: "https://x"}, {Audience: "a"}, {Issuer: "x", Audience: "a"},
		{Issuer: "http://issuer.example.com", Audience: "a"}, {Issuer: "ftp://127.0.0.1", Audience: "a"},
		{Issuer: "https://user:secret@x", Audience: "a"}, {Issuer: "https://x", Audience: "a", Leeway: 61 * time.Second},
		{Issuer: "https://x", Audience: "a", Leeway: -1},
	} {
		if v, err := oidc.New(t.Context(), o); err == nil || v != nil {
			t.Errorf("%+v was taken", o)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// TestHubTakesTokensOfAnIssuer: with a real hub, whose log of what it does has no token.
func TestHubTakesTokensOfAnIssuer(t *testing.T) {
	i := newIssuer(t)
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	n := &now{}
	n.at.Store(time.Now().Unix())
	var log bytes.Buffer
	j := memory.New()
	h, err := hub.Open(j, &hub.Options{Verifier: newVerifier(t, i, n, nil),
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	good := rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "scope", "read create"), nil)
	p, err := h.Authenticate(context.Background(), good, "")
	if err != nil || p.AgentID != "alice" || !p.Has(parley.ScopeCreate) || p.Has(parley.ScopeWrite) {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := h.Authenticate(context.Background(), good, "bob"); !errors.Is(err, parley.ErrForbidden) {
		t.Errorf("as bob: %v", err)
	}
	if _, err := h.Authenticate(context.Background(), good[:len(good)-4]+"AAAA", ""); !errors.Is(err,
		parley.ErrUnauthenticated) {
		t.Errorf("with another signature: %v", err)
	} else if refused := (interface{ AuditReason() string })(nil); !errors.As(err, &refused) ||
		!strings.Contains(refused.AuditReason(), "signature") {
		t.Errorf("with another signature: the reason for the audit log is %v", refused)
	}
	if err := errors.Join(h.Close(), j.Close()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), good[:20]) {
		t.Errorf("the log: %s", log.String())
	}
}
