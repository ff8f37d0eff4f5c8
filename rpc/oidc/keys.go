package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/parleyhub/parley"
)

const (
	// fetchEvery is the shortest time between two requests to the issuer, for any tokens.
	fetchEvery = 10 * time.Second
	// freshFor is how long keys are used without another request, and staleFor how long if the issuer
	// does not answer.
	freshFor = 15 * time.Minute
	staleFor = 24 * time.Hour
	// maxWaiting bounds the calls that wait for the issuer.
	maxWaiting = 16
)

// errUnknown means that the keys of the issuer are not known at the moment.
var errUnknown = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the keys of the issuer are not known at the moment",
	RetryAfterMs: fetchEvery.Milliseconds(),
}

// keys are the keys that the issuer publishes.
type keys struct {
	opts    Options
	waiting chan struct{} // a slot for each call that asks the issuer or waits for that
	fetch   sync.Mutex    // held by the one call that asks the issuer; before mu

	mu      sync.Mutex // guards the fields below
	set     []jose.JSONWebKey
	at      time.Time // when set was fetched; zero: never
	tried   time.Time // when the issuer was asked last
	address string    // of the keys; empty until the configuration was read
}

func newKeys(o Options) *keys {
	return &keys{opts: o, waiting: make(chan struct{}, maxWaiting)}
}

// findKeys returns the keys for a token with this header; none if the issuer publishes no such key. It
// returns errUnknown if the keys are not known.
func (k *keys) findKeys(ctx context.Context, header jose.Header) ([]crypto.PublicKey, error) {
	found, age := k.knownKeys(header)
	if len(found) > 0 && age < freshFor {
		return found, nil
	}
	err := k.refresh(ctx, len(found) == 0 || age >= staleFor)
	found, age = k.knownKeys(header)
	switch {
	case age >= staleFor:
		return nil, errUnknown
	case len(found) == 0 && err != nil:
		return nil, err
	}
	return found, nil
}

// knownKeys returns the known keys for a header, and the age of the key set.
func (k *keys) knownKeys(header jose.Header) ([]crypto.PublicKey, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() {
		return nil, staleFor
	}
	var found []crypto.PublicKey
	for i := range k.set {
		if fits(&k.set[i], header) {
			found = append(found, k.set[i].Key)
		}
	}
	return found, k.opts.Now().Sub(k.at)
}

// fits reports whether a token with a header may be signed with a key.
func fits(key *jose.JSONWebKey, header jose.Header) bool {
	switch key.Key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return false // never verify with a secret or private key
	}
	return (header.KeyID == "" || key.KeyID == "" || key.KeyID == header.KeyID) &&
		(key.Use == "" || key.Use == "sig") &&
		(key.Algorithm == "" || key.Algorithm == header.Algorithm)
}

// refresh asks the issuer, unless it was asked a moment ago: then the known keys are all keys. One call
// asks. A few calls that need the answer wait for it, and all others get errUnknown at once. So a slow
// issuer does not delay tokens with a known key.
func (k *keys) refresh(ctx context.Context, needed bool) error {
	select {
	case k.waiting <- struct{}{}:
	default:
		return errUnknown
	}
	defer func() { <-k.waiting }()
	if needed {
		k.fetch.Lock()
	} else if !k.fetch.TryLock() {
		return errUnknown
	}
	defer k.fetch.Unlock()
	k.mu.Lock()
	now := k.opts.Now()
	soon := !k.tried.IsZero() && now.Sub(k.tried) < fetchEvery
	worked := k.at.Equal(k.tried)
	if !soon {
		k.tried = now
	}
	k.mu.Unlock()
	if soon {
		if worked {
			return nil
		}
		return errUnknown
	}
	set, address, err := k.fetchKeys(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.address = "" // the keys may have moved: read the configuration again
		return errUnknown
	}
	k.set, k.address, k.at = set, address, now
	return nil
}

// fetchKeys reads the keys of the issuer. If their address is not known, it reads the configuration
// first.
func (k *keys) fetchKeys(ctx context.Context) ([]jose.JSONWebKey, string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout) // others wait for the answer too
	defer cancel()
	k.mu.Lock()
	address := k.address
	k.mu.Unlock()
	if address == "" {
		var err error
		if address, err = k.discover(ctx); err != nil {
			return nil, "", err
		}
	}
	set, err := k.readKeys(ctx, address)
	return set, address, err
}

func (k *keys) discover(ctx context.Context) (string, error) {
	// NewProvider checks the issuer in the configuration.
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, k.opts.HTTPClient), k.opts.Issuer)
	if err != nil {
		return "", err
	}
	var configuration struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&configuration); err != nil {
		return "", err
	}
	return configuration.Keys, checkURL(configuration.Keys, k.opts.Issuer)
}

func (k *keys) readKeys(ctx context.Context, address string) ([]jose.JSONWebKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the keys: HTTP %d", resp.StatusCode)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return parseKeys(body)
}

// parseKeys reads a key set. It ignores keys of an unknown kind.
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, fmt.Errorf("the keys: %w", err)
	}
	var set []jose.JSONWebKey
	for _, r := range raw.Keys {
		var key jose.JSONWebKey
		if err := json.Unmarshal(r, &key); err == nil {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("the issuer publishes no key")
	}
	return set, nil
}
