package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/sdk"
)

// TestTLSVersions: TLS 1.3 is taken and nothing older, and HTTP/2 is not spoken: a WebSocket needs
// HTTP/1.1.
func TestTLSVersions(t *testing.T) {
	t.Parallel()
	ca := clitest.NewAuthority(t)
	addr := serveTLS(t, openTLS(t, ca.Write(t.TempDir(), clitest.Month), io.Discard))
	state, err := get(addr, &tls.Config{RootCAs: ca.Pool(), NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("%s, %q", tls.VersionName(state.Version), state.NegotiatedProtocol)
	}
	if _, err = get(addr, &tls.Config{RootCAs: ca.Pool(), MaxVersion: tls.VersionTLS12}); err == nil {
		t.Fatal("TLS 1.2 was taken")
	}
	if hint := cli.TLSHint(err); !strings.Contains(hint, "TLS 1.3") {
		t.Errorf("the hint for %v is %q", err, hint)
	}
	if _, err = get(addr, &tls.Config{}); err == nil || !strings.Contains(cli.TLSHint(err), cli.EnvCA) {
		t.Errorf("an unknown authority: %v, hint %q", err, cli.TLSHint(err))
	}
}

// TestTLSPlaintext: a client without TLS gets an error about TLS.
func TestTLSPlaintext(t *testing.T) {
	t.Parallel()
	addr := serveTLS(t, openTLS(t, clitest.NewAuthority(t).Write(t.TempDir(), clitest.Month), io.Discard))
	resp, err := http.Get("http://" + addr + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "HTTP request to an HTTPS server") {
		t.Errorf("%s, %q, %v", resp.Status, body, err)
	}
	_, err = sdk.Dial(t.Context(), "ws://"+addr+"/rpc", nil)
	if !errors.Is(err, parley.ErrUnavailable) || !strings.Contains(cli.TLSHint(err), "wss://") {
		t.Errorf("the sdk says %v, hint %q", err, cli.TLSHint(err))
	}
}

// TestTLSOfPlaintextHub: a client with wss:// at a hub without TLS gets an error about TLS.
func TestTLSOfPlaintextHub(t *testing.T) {
	t.Parallel()
	hub := startMemory(t)
	_, err := sdk.Dial(t.Context(), "wss://"+hub.Addr+"/rpc", nil)
	if !strings.Contains(cli.TLSHint(err), "ws://") {
		t.Errorf("%v, hint %q", err, cli.TLSHint(err))
	}
}

// TestTLSReload: new files hold for new connections, at once, while those that are open go on;
// broken ones change nothing.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	first, second := clitest.NewAuthority(t), clitest.NewAuthority(t)
	dir := t.TempDir()
	files := first.Write(dir, clitest.Month)
	h := openTLS(t, files, io.Discard)
	addr := serveTLS(t, h)

	open := dialTLS(t, addr, first)
	askLivez(t, open)
	second.Write(dir, clitest.Month)
	if _, err := get(addr, &tls.Config{RootCAs: first.Pool()}); err != nil {
		t.Fatalf("before the reload: %v", err)
	}
	if err := h.reload(); err != nil {
		t.Fatal(err)
	}
	askLivez(t, open)
	if _, err := get(addr, &tls.Config{RootCAs: second.Pool()}); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
	if _, err := get(addr, &tls.Config{RootCAs: first.Pool()}); err == nil {
		t.Error("the old certificate is still shown")
	}

	_, otherKey := second.Certificate(clitest.Month)
	good, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{"of another pair": otherKey, "empty": nil, "half": good[:len(good)/2]} {
		clitest.WriteFile(t, files.Key, key)
		if err := h.reload(); err == nil || !strings.Contains(err.Error(), files.Key) {
			t.Errorf("a key that is %s: %v; expected an error that names the file", name, err)
		}
		if _, err := get(addr, &tls.Config{RootCAs: second.Pool()}); err != nil {
			t.Errorf("after a key that is %s: %v", name, err)
		}
	}
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	if err := h.reload(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
	askLivez(t, open)
}

// dialTLS opens a connection that askLivez uses again and again.
func dialTLS(t *testing.T, addr string, ca *clitest.Authority) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func askLivez(t *testing.T, conn *tls.Conn) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4096)
	n, err := conn.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 200 OK") {
		t.Fatalf("%q, %v", answer[:n], err)
	}
}

// TestTLSReloadUnderTraffic: while clients come and go no connection fails for a reload.
func TestTLSReloadUnderTraffic(t *testing.T) {
	t.Parallel()
	ca := clitest.NewAuthority(t)
	dir := t.TempDir()
	files := ca.Write(dir, clitest.Month)
	h := openTLS(t, files, io.Discard)
	addr := serveTLS(t, h)
	served, done := make(chan struct{}), make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				if _, err := get(addr, &tls.Config{RootCAs: ca.Pool()}); err != nil {
					t.Error(err)
				}
				select {
				case served <- struct{}{}:
				case <-done:
					return
				}
			}
		})
	}
	for range 30 {
		ca.Write(dir, clitest.Month)
		if err := h.reload(); err != nil {
			t.Error(err)
		}
		for range 5 { // one of five began after the reload
			<-served
		}
	}
	close(done)
	clients.Wait()
}

// TestTLSFollowsItsFiles: without a signal new files are found; a broken pair is logged once and
// the certificate stays.
func TestTLSFollowsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := clitest.NewAuthority(t)
		dir := t.TempDir()
		files := ca.Write(dir, clitest.Month)
		var logged clitest.Buffer
		h := openTLS(t, files, &logged)
		leaf := func() []byte { return h.current.Load().Certificates[0].Certificate[0] }
		first := leaf()

		_, otherKey := ca.Certificate(clitest.Month)
		clitest.WriteFile(t, files.Key, otherKey)
		time.Sleep(10 * certs.TlsLook)
		synctest.Wait()
		if !bytes.Equal(leaf(), first) {
			t.Error("a broken pair was taken")
		}
		if n := strings.Count(logged.String(), "cannot be used any more"); n != 1 {
			t.Errorf("a broken pair was logged %d times:\n%s", n, logged.String())
		}
		ca.Write(dir, clitest.Month)
		time.Sleep(certs.TlsLook)
		synctest.Wait()
		if bytes.Equal(leaf(), first) {
			t.Error("the new pair was not found")
		}
		time.Sleep(10 * certs.TlsLook)
		synctest.Wait()
		if strings.Count(logged.String(), "the certificate was loaded") != 1 || strings.Contains(logged.String(), "PRIVATE") {
			t.Errorf("the log:\n%s", logged.String())
		}
	})
}

// TestTLSRemindsOfTheEnd: a certificate that ends soon is warned of once a day.
func TestTLSRemindsOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged clitest.Buffer
		openTLS(t, clitest.NewAuthority(t).Write(t.TempDir(), clitest.Month/2), &logged)
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		if logged.String() != "" {
			t.Errorf("too early: %s", logged.String())
		}
		time.Sleep(3 * 24 * time.Hour)
		synctest.Wait()
		if n := strings.Count(logged.String(), "ends on "); n != 3 && n != 4 {
			t.Errorf("%d warnings in three days:\n%s", n, logged.String())
		}
	})
}

// openTLS is newTLS for a test, closed at its end.
func openTLS(t *testing.T, files certs.Files, to io.Writer) *hubTLS {
	t.Helper()
	h, err := newTLS(files, zerolog.New(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h
}

// serveTLS puts a hub behind TLS on a socket and returns its address, host:port.
func serveTLS(t *testing.T, h *hubTLS) string {
	t.Helper()
	hub := startMemory(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: hub.door, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tls.NewListener(l, h.config)) }()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return l.Addr().String()
}

// get asks for /livez on a separate connection.
func get(addr string, config *tls.Config) (*tls.ConnectionState, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
		Timeout: 10 * time.Second}
	resp, err := client.Get("https://" + addr + "/livez")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return resp.TLS, err
}
