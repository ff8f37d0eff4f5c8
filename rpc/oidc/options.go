package oidc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Options of a verifier.
type Options struct {
	// Issuer is the address of the issuer, exactly as its tokens name it: https, or http on a loopback
	// address.
	Issuer string
	// Audience is the audience of the tokens for this hub.
	Audience string
	// AgentClaim is the token claim that names the participant; empty: sub. A value that is not a
	// participant id is mapped to one. With "email", a token with email_verified false is refused.
	AgentClaim string
	// ScopeClaim is the token claim with the scopes, a text with spaces or a list; empty: scope.
	ScopeClaim string
	// WorkspaceClaim is the token claim with the names of workspaces that the token may use, a text with
	// spaces or a list; empty: none. Words that are not names of workspaces are ignored.
	WorkspaceClaim string
	// AllowAdmin accepts the scope admin in that token claim, which is ignored otherwise. Anyone who can
	// write tokens of the issuer then has all rights in the hub.
	AllowAdmin bool
	// HTTPClient is for requests to the issuer; nil: one with a timeout of 4 s. It follows no redirects.
	HTTPClient *http.Client
	// Leeway is the largest error of the clock of the issuer, at most a minute; 0: 30 s.
	Leeway time.Duration
	// Now returns the time; nil: time.Now.
	Now func() time.Time
}

const (
	defaultLeeway = 30 * time.Second
	maxLeeway     = time.Minute
	// fetchTimeout is less than the timeout of a hub for a verifier.
	fetchTimeout = 4 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if err := checkURL(o.Issuer, o.Issuer); err != nil {
		return o, fmt.Errorf("oidc: the issuer: %w", err)
	}
	switch {
	case o.Audience == "":
		return o, errors.New("oidc: the audience is missing: tokens for other services would be accepted")
	case o.Leeway < 0 || o.Leeway > maxLeeway:
		return o, fmt.Errorf("oidc: the leeway is %s, expected 0 to %s", o.Leeway, maxLeeway)
	}
	o.AgentClaim, o.ScopeClaim = cmp.Or(o.AgentClaim, "sub"), cmp.Or(o.ScopeClaim, "scope")
	o.Leeway = cmp.Or(o.Leeway, defaultLeeway)
	if o.Now == nil {
		o.Now = time.Now
	}
	client := http.Client{Timeout: fetchTimeout}
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = bounded{client.Transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTPClient = &client
	return o, nil
}

// maxAnswerBytes bounds an answer of the issuer.
const maxAnswerBytes = 1 << 20

// bounded cuts off answers that are too large.
type bounded struct{ http.RoundTripper }

// RoundTrip makes one request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswerBytes), resp.Body}
	}
	return resp, err
}

// checkURL refuses an address whose keys a third party could replace: anything except https, or http on
// this machine if the issuer is on this machine.
func checkURL(text, issuer string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("expected https://HOST/PATH")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && onLoopback(u) && loopbackIssuer(issuer):
		return nil
	}
	return errors.New("expected https (http on a loopback address only)")
}

func loopbackIssuer(issuer string) bool {
	u, err := url.Parse(issuer)
	return err == nil && onLoopback(u)
}

func onLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
