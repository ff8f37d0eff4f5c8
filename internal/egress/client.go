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

// The errors of a client. They are wrapped with a reason that may be shown to the user who supplied
// the URL.
var (
	ErrRefused  = errors.New("refused")                          // forbidden by this package; nothing was sent
	ErrRedirect = errors.New("redirects are not followed")       // the server answered with a redirect
	ErrTooLarge = errors.New("the response's body is too large") // returned by reads of the body
)

// Options configures a client. The zero value is ready to use.
type Options struct {
	// AllowPrivate lists ranges that may be reached although they are not public; see [ParseAllowed].
	AllowPrivate []netip.Prefix
	// HTTPSOnly refuses http.
	HTTPSOnly bool
	// Timeout limits a whole exchange including its body. 0 means 30 s. With a negative value only the
	// context limits it, as streams need.
	Timeout time.Duration
	// MaxBody limits the body of a response, in bytes. 0 means 16 MiB. A negative value means no
	// limit, for streams whose reader counts.
	MaxBody int64
	// Resolver resolves names. nil means the resolver of the system.
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

// NewClient returns a client. Its methods may be called from any goroutine.
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
			Proxy:                  nil, // a proxy would connect to an address that this package does not see
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

// checkDial checks each address before it is dialed.
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

// guard checks each request and limits each response.
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

// CloseIdleConnections makes [http.Client.CloseIdleConnections] work.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

// bounded is a body that returns ErrTooLarge beyond its limit.
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

// Reason returns an error of a client without the URL that net/http adds. Show and log only this
// form.
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
