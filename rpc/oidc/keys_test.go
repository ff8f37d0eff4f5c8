package oidc_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parleyhub/parley"
)

// TestIssuerIsNotFlooded: however many tokens with unknown keys come, the issuer is asked once in
// 10 s; tokens with known keys pass meanwhile.
func TestIssuerIsNotFlooded(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	v := newVerifier(t, i, n, nil)
	good := rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for k := range 500 {
		all.Go(func() {
			bad := rs.sign(t, jwt.SigningMethodRS256, i.claims(n), map[string]any{"kid": fmt.Sprint(k)})
			if _, err := v.Verify(t.Context(), bad); err == nil {
				t.Error("an unknown key was taken")
			}
			if _, err := v.Verify(t.Context(), good); err != nil {
				t.Errorf("a good token: %v", err)
			}
		})
	}
	all.Wait()
	if _, keys := i.asked(); keys != 1 {
		t.Errorf("its keys were asked for %d times", keys)
	}
	n.at.Add(10)
	fresh := ecKey(t, "fresh")
	i.publish(fresh, "sig")
	for range 2 {
		if _, err := v.Verify(t.Context(), fresh.sign(t, jwt.SigningMethodES256, i.claims(n), nil)); err != nil {
			t.Errorf("a new key: %v", err)
		}
	}
	if configs, keys := i.asked(); configs != 1 || keys != 2 {
		t.Errorf("it was asked %d and %d times", configs, keys)
	}
}

// TestKeysEnd: a key that the issuer takes back is not taken for long.
func TestKeysEnd(t *testing.T) {
	i, n := newIssuer(t), newNow()
	old, fresh := rsaKey(t, "old"), ecKey(t, "fresh")
	i.publish(old, "sig")
	v := newVerifier(t, i, n, nil)
	verify := func() error {
		_, err := v.Verify(t.Context(), old.sign(t, jwt.SigningMethodRS256, i.claims(n), nil))
		return err
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	i.change(func() { i.down = true })
	for range 23 {
		n.at.Add(3600)
		if err := verify(); err != nil {
			t.Fatalf("while the issuer is down: %v", err)
		}
	}
	n.at.Add(3600)
	if err := verify(); !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("after a day: %v", err)
	}
	i.change(func() { i.down = false })
	n.at.Add(10)
	if err := verify(); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	i.change(func() { i.keys = nil })
	i.publish(fresh, "sig")
	n.at.Add(15*60 - 1)
	if err := verify(); err != nil {
		t.Errorf("within a quarter of an hour: %v", err)
	}
	n.at.Add(1)
	if err := verify(); !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("after it: %v", err)
	}
}

// TestIssuerThatIsDown: the hub starts without it, says that it does not know, and knows when it is
// there.
func TestIssuerThatIsDown(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	i.change(func() { i.down = true })
	v := newVerifier(t, i, n, nil)
	token := rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil)
	for _, bad := range []string{token, token} {
		if _, err := v.Verify(t.Context(), bad); !errors.Is(err, parley.ErrUnavailable) {
			t.Errorf("down: %v", err)
		}
	}
	if _, err := v.Verify(t.Context(), token+"x"); !errors.Is(err, parley.ErrUnauthenticated) &&
		!errors.Is(err, parley.ErrUnavailable) {
		t.Error(err)
	}
	i.change(func() { i.down = false })
	n.at.Add(10)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("up: %v", err)
	}
}

// TestSlowIssuer: while it is asked for fresh keys, one caller waits for it and all others go on
// with the keys that are known.
func TestSlowIssuer(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs := rsaKey(t, "rs")
	i.publish(rs, "sig")
	v := newVerifier(t, i, n, nil)
	good := rs.sign(t, jwt.SigningMethodRS256, i.claims(n, "exp", n.at.Load()+7200), nil)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	n.at.Add(3600)
	asked, answer := make(chan struct{}), make(chan struct{})
	i.change(func() { i.slow = func() { close(asked); <-answer } })
	first := make(chan error, 1)
	verify := func() error {
		_, err := v.Verify(t.Context(), good)
		return err
	}
	go func() { first <- verify() }()
	<-asked
	for range 30 {
		if err := verify(); err != nil {
			t.Errorf("while the issuer takes its time: %v", err)
		}
	}
	if len(first) > 0 {
		t.Error("the others waited until the issuer's time was over")
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestKeysMove: an issuer may publish its keys at another address than before.
func TestKeysMove(t *testing.T) {
	i, n := newIssuer(t), newNow()
	rs, fresh := rsaKey(t, "rs"), ecKey(t, "fresh")
	i.publish(rs, "sig")
	v := newVerifier(t, i, n, nil)
	if _, err := v.Verify(t.Context(), rs.sign(t, jwt.SigningMethodRS256, i.claims(n), nil)); err != nil {
		t.Fatal(err)
	}
	i.publish(fresh, "sig")
	i.change(func() { i.gone, i.keysAt = true, i.http.URL+"/keys2" })
	for range 2 {
		n.at.Add(10)
		_, err := v.Verify(t.Context(), fresh.sign(t, jwt.SigningMethodES256, i.claims(n), nil))
		if err == nil {
			return
		}
	}
	t.Error("they are not found")
}
