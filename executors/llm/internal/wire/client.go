package wire

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The limits of one answer.
const (
	MaxBody   = 64 << 20
	maxHeader = 256 << 10
)

// headerTimeout limits the time until the headers of an answer. Without a stream, they arrive at
// the end.
const headerTimeout = 15 * time.Minute

// ErrTooLarge is an answer with more than MaxBody bytes.
var ErrTooLarge = errors.New("the answer is larger than 64 MiB")

// Client returns the HTTP client of a provider: a copy of c, or a new one if c is nil. It limits
// answers to MaxBody, and follows no redirects, so that the key is only sent to its own server.
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

// bounded limits the bodies of answers.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	s, _ := req.Context().Value(silenceKey{}).(*silence)
	s.begin()
	res, err := b.next.RoundTrip(req)
	s.end()
	if err == nil && res.Body != nil {
		res.Body = &body{ReadCloser: res.Body, left: MaxBody, silence: s}
	}
	return res, err
}

// CloseIdleConnections implements http.Client.CloseIdleConnections.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// body returns ErrTooLarge after left bytes.
type body struct {
	io.ReadCloser
	left    int64
	silence *silence
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	b.silence.begin()
	n, err := b.ReadCloser.Read(p)
	b.silence.end()
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

// CheckBase checks a base URL. The error does not contain the URL, because it may have a key.
func CheckBase(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("invalid base URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the base URL does not start with https:// or http://")
	case u.Host == "":
		return errors.New("the base URL has no host")
	case u.User != nil:
		return errors.New("the base URL has a user; set the key in its own option")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the base URL has a query or a fragment")
	}
	return nil
}

// CheckName checks the name of a provider: 1 to 64 characters of a-z 0-9 . _ -.
func CheckName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789._-"
	if name == "" || len(name) > 64 || strings.Trim(name, letters) != "" {
		return errors.New("invalid provider name (expected: 1 to 64 of a-z 0-9 . _ -)")
	}
	return nil
}

// CheckKey checks a key. The error does not contain it.
func CheckKey(key string) error {
	if !Printable(key) {
		return errors.New("invalid key: it has a line break, or other characters that a header cannot have")
	}
	return nil
}

// Printable reports whether a text can be the value of a header: at most 512 bytes of printable
// ASCII.
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
