package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// The errors of a client. They are wrapped with what was wrong, in words that may be shown to who
// has named the URL.
var (
	ErrRefused  = errors.New("refused")                          // by the rules of this package: nothing was sent
	ErrRedirect = errors.New("redirects are not followed")       // the other side has answered with one
	ErrTooLarge = errors.New("the response's body is too large") // by reading it
)

// Options of a client. The zero value is good.
type Options struct {
	// AllowPrivate are the ranges that are reached though they are not public; see [ParseAllowed].
	AllowPrivate []netip.Prefix
	// HTTPSOnly refuses http.
	HTTPSOnly bool
	// Timeout bounds a whole exchange, its body included; 0: 30 s; negative: only the context does, as
	// it must for streams.
	Timeout time.Duration
	// MaxBody bounds the body of a response, in bytes; 0: 16 MiB; negative: nothing does, which is for
	// streams whose reader counts.
	MaxBody int64
	// Resolver finds the addresses of names; nil: that of the system.
	Resolver *net.Resolver
}

const (
	defaultTimeout = 30 * time.Second
	defaultMaxBody = 16 << 20
	maxHeader      = 64 << 10
	dialTimeout    = 10 * time.Second
	idleTimeout    = 60 * time.Second
)

func (o *Options) orDefault() *Options {
	if o == nil {
		return &Options{}
	}
	return o
}

// NewClient makes a client. It may be used from any goroutine.
func NewClient(o *Options) *http.Client {
	opts := *o.orDefault()
	timeout := max(cmp.Or(opts.Timeout, defaultTimeout), 0)
	opts.MaxBody = cmp.Or(opts.MaxBody, defaultMaxBody)
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: opts.Resolver, ControlContext: func(_ context.Context, network,
		address string, _ syscall.RawConn) error {
		return checkDial(network, address, opts.AllowPrivate)
	}}
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return ErrRedirect },
		Transport: &guard{opts: opts, next: &http.Transport{
			Proxy:                  nil, // it would be the proxy whose address is looked at
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeader,
			ResponseHeaderTimeout:  timeout,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConns:           100,
			MaxIdleConnsPerHost:    2,
		}},
	}
}

// checkDial is asked for each address that is about to be dialed.
func checkDial(network, address string, allowed []netip.Prefix) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: a connection by %s", ErrRefused, network)
	}
	if !acceptable(at.Port()) {
		return fmt.Errorf("%w: the port is not 80, 443 or at least 1024", ErrRefused)
	}
	return checkAddress(at.Addr(), allowed)
}

// guard looks at each request, and bounds each response.
type guard struct {
	opts Options
	next *http.Transport
}

func (g *guard) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := checkURL(q.URL, &g.opts); err != nil {
		if q.Body != nil {
			_ = q.Body.Close()
		}
		return nil, err
	}
	a, err := g.next.RoundTrip(q)
	if err != nil || g.opts.MaxBody < 0 {
		return a, err
	}
	a.Body = &bounded{ReadCloser: a.Body, left: g.opts.MaxBody}
	return a, nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] work.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

// bounded is a body that ends in ErrTooLarge.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), 0
		return n, ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}

// Reason gives an error of a client without the URL that net/http puts before it. Show and log this
// one.
func Reason(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		if e.Timeout() {
			return errTimeout
		}
		return e.Err
	}
	return err
}

var errTimeout = errors.New("no answer in time")
