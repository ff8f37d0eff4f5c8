package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// issuer is an OpenID Connect issuer on the loopback interface.
type issuer struct {
	t    *testing.T
	http *httptest.Server

	mu           sync.Mutex // guards the fields below
	keys         []jose.JSONWebKey
	extra        string // in place of the key set
	down         bool
	gone         bool   // its keys have moved
	slow         func() // called before it sends its keys; may be nil
	name         string // its name in its configuration; empty: its address
	keysAt       string // where it says its keys are; empty: where they are
	configs, get int    // how often it was asked
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t}
	i.http = httptest.NewServer(i)
	t.Cleanup(i.http.Close)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/.well-known/openid-configuration":
		i.configs++
		name, keysAt := i.http.URL, i.http.URL+"/keys"
		if i.name != "" {
			name = i.name
		}
		if i.keysAt != "" {
			keysAt = i.keysAt
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"authorization_endpoint":%q}`, name, keysAt, name)
	case r.URL.Path == "/keys" && i.gone:
		w.WriteHeader(http.StatusNotFound)
	case r.URL.Path == "/keys" || r.URL.Path == "/keys2":
		i.get++
		if i.slow != nil {
			i.slow()
		}
		if i.extra != "" {
			fmt.Fprint(w, i.extra)
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: i.keys}) // to a test
	default:
		i.t.Errorf("the issuer was asked for %s", r.URL)
	}
}

// change changes the issuer between two requests.
func (i *issuer) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

// asked returns how often its configuration and its keys were requested.
func (i *issuer) asked() (configs, keys int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.configs, i.get
}

// signer is a key with its name.
type signer struct {
	kid string
	key crypto.Signer
}

// publish makes a key known.
func (i *issuer) publish(s signer, use string) {
	i.change(func() { i.keys = append(i.keys, jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Use: use}) })
}

func rsaKey(t *testing.T, kid string) signer {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, k}
}

func ecKey(t *testing.T, kid string) signer {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, k}
}

func edKey(t *testing.T, kid string) signer {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, k}
}

// sign makes a token. header is put over its head.
func (s signer) sign(t *testing.T, method jwt.SigningMethod, claims jwt.MapClaims, header map[string]any) string {
	t.Helper()
	return signWith(t, method, s.key, s.kid, claims, header)
}

func signWith(t *testing.T, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims,
	header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	for k, v := range header {
		token.Header[k] = v
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
