package egress_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/egress"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// TestMain says in the environment that a proxy is to be used which is not there: what follows it
// does not come through.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// names is a name server that returns the next address for each query, and then repeats the last
// one.
type names struct {
	conn net.PacketConn
	done chan struct{}

	mu    sync.Mutex // guards the fields below
	next  []netip.Addr
	asked int
}

func newNames(t *testing.T, next ...string) *names {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn, done: make(chan struct{})}
	for _, a := range next {
		n.next = append(n.next, netip.MustParseAddr(a))
	}
	go n.serve()
	t.Cleanup(func() { _ = conn.Close(); <-n.done })
	return n
}

func (n *names) serve() {
	defer close(n.done)
	b := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(b)
		if err != nil {
			return
		}
		_, _ = n.conn.WriteTo(n.answer(b[:size]), from)
	}
}

// answer makes a response (RFC 1035, section 4): one A record, or none for other types.
func (n *names) answer(q []byte) []byte {
	end := 12
	for q[end] != 0 {
		end += 1 + int(q[end])
	}
	end += 5
	out := bytes.Clone(q[:end])
	binary.BigEndian.PutUint16(out[2:], 0x8180)
	copy(out[6:12], make([]byte, 6))
	if binary.BigEndian.Uint16(q[end-4:]) != 1 {
		return out
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	out[7] = 1
	out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	out = append(out, n.next[0].AsSlice()...)
	if len(n.next) > 1 {
		n.next = n.next[1:]
	}
	return out
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

// TestRebinding: a name that was public when it was looked at, and is this machine when it is
// dialed.
func TestRebinding(t *testing.T) {
	reached := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer s.Close()
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, second := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1"} {
		n := newNames(t, "1.1.1.1", second)
		o := &egress.Options{Resolver: n.resolver()}
		raw := "http://hook.example.com" + port
		if err := egress.Check(raw, o); err != nil {
			t.Fatal(err)
		}
		if at, err := o.Resolver.LookupNetIP(t.Context(), "ip4", "hook.example.com"); err != nil ||
			at[0].Unmap() != netip.MustParseAddr("1.1.1.1") {
			t.Fatal(at, err)
		}
		_, err := egress.NewClient(o).Get(raw)
		if !errors.Is(err, egress.ErrRefused) || !strings.Contains(err.Error(), second) {
			t.Errorf("%s: %v", second, err)
		}
	}
	if reached {
		t.Error("the server was reached")
	}
	// The same name is reached where its address is allowed.
	n := newNames(t, "127.0.0.1")
	a, err := egress.NewClient(&egress.Options{Resolver: n.resolver(),
		AllowPrivate: loopback}).Get("http://hook.example.com" + port)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if !reached {
		t.Error("the server was not reached")
	}
}

// TestLiterals: an address that is no name is looked at too, at the request and at the dial.
func TestLiterals(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for _, raw := range []string{s.URL, "http://[::1]:8080/", "http://localhost:8080/", "http://127.1:8080/"} {
		if _, err := egress.NewClient(nil).Get(raw); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	reached := false
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer to.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(to.URL, status))
		_, err := egress.NewClient(&egress.Options{AllowPrivate: loopback}).Post(s.URL, "text/plain", strings.NewReader("x"))
		if !errors.Is(err, egress.ErrRedirect) {
			t.Errorf("%d: %v", status, err)
		}
		s.Close()
	}
	if reached {
		t.Error("a redirect was followed")
	}
}

func TestBounds(t *testing.T) {
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			_, _ = w.Write(make([]byte, 1000))
		case "/long":
			_, _ = w.Write(make([]byte, 1001))
		case "/header":
			w.Header().Set("X", strings.Repeat("x", 200<<10))
		case "/slow":
			<-stop
		case "/trickle":
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-stop
		case "/cookie":
			if r.Header.Get("Cookie") != "" || r.Header.Get("Accept-Encoding") != "" {
				w.WriteHeader(400)
			}
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		}
	}))
	defer s.Close()
	defer close(stop)
	client := egress.NewClient(&egress.Options{AllowPrivate: loopback, MaxBody: 1000})
	hurried := egress.NewClient(&egress.Options{AllowPrivate: loopback, MaxBody: 1000, Timeout: 200 * time.Millisecond})
	read := func(client *http.Client, path string) (int, error) {
		a, err := client.Get(s.URL + path)
		if err != nil {
			return 0, err
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		if err == nil && a.StatusCode != 200 {
			err = errors.New(a.Status)
		}
		return len(b), err
	}
	if n, err := read(client, "/exact"); n != 1000 || err != nil {
		t.Error(n, err)
	}
	if n, err := read(client, "/long"); n != 1000 || !errors.Is(err, egress.ErrTooLarge) {
		t.Error(n, err)
	}
	for path, client := range map[string]*http.Client{"/header": client, "/slow": hurried, "/trickle": hurried} {
		if _, err := read(client, path); err == nil {
			t.Errorf("%s has no bound", path)
		}
	}
	for range 2 {
		if _, err := read(client, "/cookie"); err != nil {
			t.Error(err)
		}
	}
}

// TestReason: an error that is shown has nothing of the URL in it, nor of the answer.
func TestReason(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.com/s3cret", http.StatusFound)
		_, _ = io.WriteString(w, "s3cret")
	}))
	defer s.Close()
	for _, raw := range []string{s.URL + "/s3cret?a=s3cret", "http://10.0.0.1/s3cret", "http://user:s3cret@example.com/",
		"http://127.0.0.1:1/s3cret"} {
		_, err := egress.NewClient(&egress.Options{AllowPrivate: loopback}).Get(raw)
		if err == nil || strings.Contains(egress.Reason(err).Error(), "s3cret") {
			t.Errorf("%s: %v", raw, egress.Reason(err))
		}
		if e := (*url.Error)(nil); errors.As(egress.Reason(err), &e) {
			t.Errorf("%v", e)
		}
	}
	if err := egress.Check("http://user:s3cret@example.com/s3cret", nil); err == nil || strings.Contains(err.Error(),
		"s3cret") {
		t.Error(err)
	}
}

// TestTLS checks that an untrusted certificate and an old version are refused.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	if _, err := egress.NewClient(&egress.Options{AllowPrivate: loopback, HTTPSOnly: true}).Get(s.URL); err == nil ||
		errors.Is(err, egress.ErrRefused) {
		t.Error(err)
	}
	if _, err := egress.NewClient(&egress.Options{AllowPrivate: loopback, HTTPSOnly: true}).Get(strings.Replace(s.URL,
		"https", "http", 1)); !errors.Is(err, egress.ErrRefused) {
		t.Error(err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"https://example.com", "http://[::1%25a]:1/", "http://0x7f.1", "http://a@b:80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if egress.Check(raw, nil) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q is taken", raw)
		}
		if ip := net.ParseIP(u.Hostname()); ip != nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() ||
			ip.IsUnspecified() || ip.IsMulticast()) {
			t.Fatalf("%q is taken", raw)
		}
	})
}
