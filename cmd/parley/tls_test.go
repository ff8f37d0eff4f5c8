package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"


	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

// TestTLSVersions: TLS 1.3 is taken and nothing older, and HTTP/2 is not spoken: a WebSocket needs HTTP/1.1.
func TestTLSVersions(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	addr := serveTLS(t, openTLS(t, ca.write(t.TempDir(), aMonth), io.Discard))
	state, err := get(addr, &tls.Config{RootCAs: ca.pool(), NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("%s, %q", tls.VersionName(state.Version), state.NegotiatedProtocol)
	}
	if _, err = get(addr, &tls.Config{RootCAs: ca.pool(), MaxVersion: tls.VersionTLS12}); err == nil {
		t.Fatal("TLS 1.2 was taken")
	}
	if hint := tlsHint(err); !strings.Contains(hint, "TLS 1.3") {
		t.Errorf("the hint for %v is %q", err, hint)
	}
	if _, err = get(addr, &tls.Config{}); err == nil || !strings.Contains(tlsHint(err), envCA) {
		t.Errorf("an unknown authority: %v, hint %q", err, tlsHint(err))
	}
}

// TestTLSPlaintext: who forgets TLS is told so.
func TestTLSPlaintext(t *testing.T) {
	t.Parallel()
	addr := serveTLS(t, openTLS(t, newAuthority(t).write(t.TempDir(), aMonth), io.Discard))
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
	if !errors.Is(err, parley.ErrUnavailable) || !strings.Contains(tlsHint(err), "wss://") {
		t.Errorf("the sdk says %v, hint %q", err, tlsHint(err))
	}
}

// TestTLSOfPlaintextHub: who calls a hub without TLS by wss:// is told so.
func TestTLSOfPlaintextHub(t *testing.T) {
	t.Parallel()
	hub := startMemory(t)
	_, err := sdk.Dial(t.Context(), "wss://"+hub.addr+"/rpc", nil)
	if !strings.Contains(tlsHint(err), "ws://") {
		t.Errorf("%v, hint %q", err, tlsHint(err))
	}
}

// TestTLSReload: new files hold for new connections, at once, while those that are open go on; broken ones change nothing.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	first, second := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	files := first.write(dir, aMonth)
	h := openTLS(t, files, io.Discard)
	addr := serveTLS(t, h)

	open := dialTLS(t, addr, first)
	askLivez(t, open)
	second.write(dir, aMonth)
	if _, err := get(addr, &tls.Config{RootCAs: first.pool()}); err != nil {
		t.Fatalf("before the reload: %v", err)
	}
	if err := h.reload(); err != nil {
		t.Fatal(err)
	}
	askLivez(t, open)
	if _, err := get(addr, &tls.Config{RootCAs: second.pool()}); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
	if _, err := get(addr, &tls.Config{RootCAs: first.pool()}); err == nil {
		t.Error("the old certificate is still shown")
	}

	_, otherKey := second.certificate(aMonth)
	good, err := os.ReadFile(files.key)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{"of another pair": otherKey, "empty": nil, "half": good[:len(good)/2]} {
		writeFile(t, files.key, key)
		if err := h.reload(); err == nil || !strings.Contains(err.Error(), files.key) {
			t.Errorf("a key that is %s: %v; expected an error that names the file", name, err)
		}
		if _, err := get(addr, &tls.Config{RootCAs: second.pool()}); err != nil {
			t.Errorf("after a key that is %s: %v", name, err)
		}
	}
	if err := os.Remove(files.key); err != nil {
		t.Fatal(err)
	}
	if err := h.reload(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no key: %v", err)
	}
	askLivez(t, open)
}

// dialTLS opens a connection that askLivez uses again and again.
func dialTLS(t *testing.T, addr string, ca *authority) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.pool()})
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
	ca := newAuthority(t)
	dir := t.TempDir()
	files := ca.write(dir, aMonth)
	h := openTLS(t, files, io.Discard)
	addr := serveTLS(t, h)
	served, done := make(chan struct{}), make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				if _, err := get(addr, &tls.Config{RootCAs: ca.pool()}); err != nil {
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
		ca.write(dir, aMonth)
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

// TestTLSFollowsItsFiles: without a signal new files are found; a broken pair is logged once and the certificate stays.
func TestTLSFollowsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		dir := t.TempDir()
		files := ca.write(dir, aMonth)
		var logged notebook
		h := openTLS(t, files, &logged)
		leaf := func() []byte { return h.current.Load().Certificates[0].Certificate[0] }
		first := leaf()

		_, otherKey := ca.certificate(aMonth)
		writeFile(t, files.key, otherKey)
		time.Sleep(10 * tlsLook)
		synctest.Wait()
		if !bytes.Equal(leaf(), first) {
			t.Error("a broken pair was taken")
		}
		if n := strings.Count(logged.String(), "cannot be used any more"); n != 1 {
			t.Errorf("a broken pair was logged %d times:\n%s", n, logged.String())
		}
		ca.write(dir, aMonth)
		time.Sleep(tlsLook)
		synctest.Wait()
		if bytes.Equal(leaf(), first) {
			t.Error("the new pair was not found")
		}
		time.Sleep(10 * tlsLook)
		synctest.Wait()
		if strings.Count(logged.String(), "the certificate was loaded") != 1 || strings.Contains(logged.String(), "PRIVATE") {
			t.Errorf("the log:\n%s", logged.String())
		}
	})
}

// TestTLSRemindsOfTheEnd: a certificate that ends soon is warned of once a day.
func TestTLSRemindsOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged notebook
		openTLS(t, newAuthority(t).write(t.TempDir(), aMonth/2), &logged)
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

// TestTLSFilesThatAreRefused: what makes no whole is refused by name, before anything listens.
func TestTLSFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, c := range map[string]struct {
		change func(t *testing.T, f *tlsFiles)
		want   string
	}{
		"no key":             {func(t *testing.T, f *tlsFiles) { f.key = "" }, "both a certificate and its key"},
		"no certificate":     {func(t *testing.T, f *tlsFiles) { f.cert = "" }, "both a certificate and its key"},
		"only a client CA":   {func(t *testing.T, f *tlsFiles) { *f = tlsFiles{clientCA: f.cert} }, "needs TLS"},
		"absent":             {func(t *testing.T, f *tlsFiles) { f.cert += "x" }, "no such file"},
		"a directory":        {func(t *testing.T, f *tlsFiles) { f.cert = filepath.Dir(f.cert) }, "no regular file"},
		"too large":          {func(t *testing.T, f *tlsFiles) { writeFile(t, f.cert, make([]byte, maxPEMBytes+1)) }, "expected at most"},
		"key for all":        {func(t *testing.T, f *tlsFiles) { chmod(t, f.key, 0o644) }, "mode 0644: others may read"},
		"key for the world":  {func(t *testing.T, f *tlsFiles) { chmod(t, f.key, 0o604) }, "mode 0604: others may read"},
		"key to be changed":  {func(t *testing.T, f *tlsFiles) { chmod(t, f.key, 0o620) }, "mode 0620: others may read"},
		"no PEM":             {func(t *testing.T, f *tlsFiles) { writeFile(t, f.cert, []byte("hello")) }, "cert.pem"},
		"key as certificate": {func(t *testing.T, f *tlsFiles) { f.cert = f.key }, "key.pem"},
		"another's key": {func(t *testing.T, f *tlsFiles) {
			_, key := ca.certificate(aMonth)
			writeFile(t, f.key, key)
		}, "does not match"},
		"no names": {func(t *testing.T, f *tlsFiles) {
			cert, key := ca.nameless()
			writeFile(t, f.cert, cert)
			writeFile(t, f.key, key)
		}, "names no host"},
		"empty client CA": {func(t *testing.T, f *tlsFiles) {
			f.clientCA = writeFile(t, filepath.Join(t.TempDir(), "clients.pem"), nil)
		}, "holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			files := ca.write(t.TempDir(), aMonth)
			c.change(t, &files)
			contents, err := files.read()
			if err == nil {
				_, err = loadTLS(files, contents)
			}
			if err == nil {
				t.Fatal("taken")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; expected %q", err, c.want)
			}
			if strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("the error shows a key: %v", err)
			}
		})
	}
}

// TestKeyOfRootForAGroup: a key that root lets a group read is taken, one that somebody else does is not.
func TestKeyOfRootForAGroup(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		leaveOut(t, "root, who makes files of others,")
	}
	files := newAuthority(t).write(t.TempDir(), aMonth)
	chmod(t, files.key, 0o440)
	if _, err := files.read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(files.key, 1234, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := files.read(); err == nil {
		t.Error("a key of user 1234 that the group may read was taken")
	}
}
