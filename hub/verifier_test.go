package hub_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// verifierFunc is a verifier of one function.
type verifierFunc func(ctx context.Context, token string) (hub.Identity, error)

func (f verifierFunc) Verify(ctx context.Context, token string) (hub.Identity, error) {
	return f(ctx, token)
}

// TestVerifierIsAskedForOthers: it never sees the hub's own tokens, nor what is too long to be any.
func TestVerifierIsAskedForOthers(t *testing.T) {
	var asked []string
	o := rooted("v")
	o.Verifier = verifierFunc(func(_ context.Context, token string) (hub.Identity, error) {
		asked = append(asked, token)
		return hub.Identity{}, parley.ErrUnauthenticated
	})
	h := startOn(t, newJournal(t), o)
	admin := login(t, h, rootToken)
	a := hold(t, h, admin, ofA)
	login(t, h, a.token)
	for _, bad := range []string{"", a.token + "x", "plt_", "plt_x_y", strings.Repeat("x", 8<<10+1),
		strings.Repeat("x", 1<<20)} {
		_, err := h.Authenticate(t.Context(), bad, "")
		refused(t, err, parley.ErrUnauthenticated)
	}
	if len(asked) != 0 {
		t.Fatalf("it was shown %.20q", asked)
	}
	_, err := h.Authenticate(t.Context(), strings.Repeat("x", 8<<10), "")
	if refused(t, err, parley.ErrUnauthenticated); len(asked) != 1 {
		t.Fatal("it was not asked")
	}
}

// TestIdentities: the identity of a verifier is checked against what a token may have.
func TestIdentities(t *testing.T) {
	good := func() hub.Identity { return hub.Identity{TokenID: "oidc:1", Agents: []string{"a", "b"}} }
	for _, c := range []struct {
		name   string
		change func(*hub.Identity)
		want   error
	}{
		{"good", func(*hub.Identity) {}, nil},
		{"no agent", func(i *hub.Identity) { i.Agents = nil }, parley.ErrUnauthenticated},
		{"an agent that is none", func(i *hub.Identity) { i.Agents = []string{"auth0|x"} }, parley.ErrUnauthenticated},
		{"the hub", func(i *hub.Identity) { i.Agents = []string{"a", "hub"} }, parley.ErrUnauthenticated},
		{"an id like the hub's own", func(i *hub.Identity) { i.TokenID = "root" }, parley.ErrUnauthenticated},
		{"no id", func(i *hub.Identity) { i.TokenID = "" }, parley.ErrUnauthenticated},
		{"a long id", func(i *hub.Identity) { i.TokenID = "oidc:" + strings.Repeat("x", 200) }, parley.ErrUnauthenticated},
		{"a scope that is none", func(i *hub.Identity) { i.Scopes = []parley.Scope{"self"} }, parley.ErrUnauthenticated},
		{"over", func(i *hub.Identity) { i.ExpiresAt = time.Now().Add(-time.Second) }, parley.ErrUnauthenticated},
	} {
		o := rooted("v")
		id := good()
		c.change(&id)
		o.Verifier = verifierFunc(func(context.Context, string) (hub.Identity, error) { return id, nil })
		h := startOn(t, newJournal(t), o)
		p, err := h.Authenticate(t.Context(), "x", "b")
		if c.want != nil {
			if refused(t, err, c.want); p != nil {
				t.Errorf("%s: %+v", c.name, p)
			}
			continue
		}
		if err != nil || p.AgentID != "b" || p.TokenID != "oidc:1" || !p.Has(parley.ScopeCreate) || p.Admin() ||
			p.Has(parley.ScopeTrace) {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
		_, err = h.Authenticate(t.Context(), "x", "c")
		refused(t, err, parley.ErrForbidden)
	}
}

// TestTokensOfAnIssuersToken: they name it, are its holder's to revoke, and end with it.
func TestTokensOfAnIssuersToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		o := rooted("1")
		end := time.Now().Add(time.Minute)
		o.Verifier = verifierFunc(func(context.Context, string) (hub.Identity, error) {
			return hub.Identity{TokenID: "oidc:1", Agents: []string{"a"}, ExpiresAt: end}, nil
		})
		h := startOn(t, j, o)
		jwt := login(t, h, "x")
		_, err := createToken(h, jwt, parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 61_000})
		refused(t, err, parley.ErrForbidden)
		child := hold(t, h, jwt, ofA)
		grandchild := hold(t, h, child.Principal, ofA)
		if !child.ExpiresAt.Equal(end.Truncate(time.Millisecond)) {
			t.Errorf("it ends at %v, and its maker at %v", child.ExpiresAt, end)
		}
		if list := listAll(t, h, jwt); len(list) != 2 || list[0].Parent != "oidc:1" {
			t.Errorf("%+v", list)
		}
		mustRevoke(t, h, jwt, grandchild.TokenID)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h = startOn(t, j, rooted("2"))
		login(t, h, child.token)
		time.Sleep(time.Minute) // in the bubble
		_, err = h.Authenticate(t.Context(), child.token, "")
		refused(t, err, parley.ErrUnauthenticated)
	})
}

// TestVerifiersThatFail: whatever a verifier does, its caller hears within 5 s, and the log has no token.
func TestVerifiersThatFail(t *testing.T) {
	const canary = "eyJcanary"
	for _, c := range []struct {
		name   string
		verify verifierFunc
		want   error
		logged bool
	}{
		{"refuses", func(context.Context, string) (hub.Identity, error) {
			return hub.Identity{}, parley.Refuse(parley.ErrUnauthenticated, "aud is wrong", "")
		}, parley.ErrUnauthenticated, false},
		{"does not know", func(context.Context, string) (hub.Identity,
			error) {
			return hub.Identity{}, parley.ErrUnavailable
		}, parley.ErrUnavailable, false},
		{"fails", func(context.Context, string) (hub.Identity, error) { return hub.Identity{}, errors.New("broken") },
			parley.ErrUnavailable, true},
		{"panics", func(_ context.Context, token string) (hub.Identity, error) { panic("with " + token) },
			parley.ErrUnavailable, true},
		{"is slow", func(ctx context.Context, _ string) (hub.Identity, error) {
			<-ctx.Done()
			return hub.Identity{}, ctx.Err()
		}, parley.ErrUnavailable, false},
		{"does not look at ctx", func(context.Context, string) (hub.Identity, error) {
			time.Sleep(time.Hour)
			return hub.Identity{TokenID: "x:1", Agents: []string{"a"}}, nil
		}, parley.ErrUnavailable, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				o := rooted("v")
				o.Verifier, o.Logger = c.verify, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				h := startOn(t, newJournal(t), o)
				begin := time.Now()
				_, err := h.Authenticate(t.Context(), canary, "")
				if refused(t, err, c.want); time.Since(begin) > 5*time.Second {
					t.Errorf("it took %v", time.Since(begin))
				}
				if strings.Contains(err.Error(), "aud") {
					t.Errorf("it tells why: %v", err)
				}
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(log.String(), canary) || (log.Len() > 0) != c.logged {
					t.Errorf("the log: %s", log.String())
				}
			})
		})
	}
}

// TestVerifierIsNotFlooded: so many tokens are looked at at once, and no more.
func TestVerifierIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Int64
		o := rooted("v")
		o.Verifier = verifierFunc(func(ctx context.Context, _ string) (hub.Identity, error) {
			if busy.Add(1) > 256 {
				t.Error("more than 256 at once")
			}
			defer busy.Add(-1)
			<-ctx.Done()
			return hub.Identity{}, ctx.Err()
		})
		h := startOn(t, newJournal(t), o)
		answers := make(chan error, 1000)
		for range cap(answers) {
			go func() {
				_, err := h.Authenticate(t.Context(), "x", "")
				answers <- err
			}()
		}
		for range cap(answers) {
			refused(t, <-answers, parley.ErrUnavailable)
		}
	})
}
