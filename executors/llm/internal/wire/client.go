package wire

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The bounds of one answer.
const (
	MaxBody   = 64 << 20
	maxHeader = 256 << 10
)

// headerTimeout is how long an answer may take to begin. One that is not streamed begins when it is done.
const headerTimeout = 15 * time.Minute

// ErrTooLarge is an answer of more than MaxBody bytes.
var ErrTooLarge = errors.New("the answer is larger than 64 MiB")

// Client makes the client that a provider calls with: c, or one of its own for nil, whose answers are bounded by MaxBody and which follows no redirect, so that a key is sent to nobody
// but the server that it is for. The client c itself is not changed.
func Client(c *http.Client) *http.Client {
	made := http.Client{}
	if c != nil {
		made = *c
	}
	if made.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = maxHeader
		t.ResponseHeaderTimeout = headerTimeout
		made.Transport = t
	}
	made.Transport = bounded{made.Transport}
	made.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &made
}

// bounded bounds the bodies of answers.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err == nil && res.Body != nil {
		res.Body = &body{ReadCloser: res.Body, left: MaxBody}
	}
	return res, err
}

// CloseIdleConnections is for http.Client.CloseIdleConnections.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// body fails with ErrTooLarge after left bytes.
type body struct {
	io.ReadCloser
	left int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

// CheckBase says what is wrong with a base URL. It does not repeat it: somebody may have put a key there.
func CheckBase(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("the base URL is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the base URL does not begin with https:// or http://")
	case u.Host == "":
		return errors.New("the base URL names no host")
	case u.User != nil:
		return errors.New("the base URL has a user: put the key into its own option")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the base URL has a query or a fragment")
	}
	return nil
}

// CheckName says what is wrong with the name of a provider: it is 1 to 64 of a-z 0-9 . _ -, for it stands before the colon of a model name.
func CheckName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789._-"
	if name == "" || len(name) > 64 || strings.Trim(name, letters) != "" {
		return errors.New("the name of a provider is 1 to 64 of a-z 0-9 . _ -")
	}
	return nil
}

// CheckKey says what is wrong with a key, without repeating it.
func CheckKey(key string) error {
	if !Printable(key) {
		return errors.New("the key has characters that no key has: is there a line break in it?")
	}
	return nil
}

// Printable reports whether a text can be the value of a header: printable ASCII, 512 bytes at most.
func Printable(s string) bool {
	if len(s) > 512 {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
