package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

// TestNginx puts a real nginx, with the lines of docs/guides/operations.md, before a hub. A WebSocket goes through, and the events of an SSE stream
// come through one by one.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx, openssl := require(t, "nginx"), require(t, "openssl")
	hub := program.Start(t, t.TempDir(), "--trusted-proxy", "127.0.0.1")
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	out, err := exec.Command(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
		"-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	address := hubproc.LowAddress(t)
	lines := strings.NewReplacer(
		"listen 443 ssl", "listen "+address+" ssl", "/etc/nginx/cert.pem", cert, "/etc/nginx/key.pem", key,
		"http://127.0.0.1:7447", hub.HTTP(),
	).Replace(fencedAs(t, "nginx"))
	write(t, filepath.Join(dir, "nginx.conf"), "daemon off; master_process off; pid nginx.pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+
		"client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n"+lines+"}\n")
	proxy := exec.Command(nginx, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr")
	proxy.Stderr = os.Stderr
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		proxy.Process.Kill()
		proxy.Wait()
	}()

	parley := func(args ...string) {
		t.Helper()
		cmd := exec.Command(string(program), args...)
		cmd.Env = append(os.Environ(), "PARLEY_URL=wss://"+address+"/rpc", "PARLEY_TOKEN="+hubproc.Token, "PARLEY_CA="+cert)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	client := trusting(t, cert)
	awaitHTTP(t, client, "https://"+address+"/livez")
	parley("doctor")
	parley("conversation", "create", "--id", "c1", "--participant", "ann", "--participant", "bob")
	parley("send", "c1", "hello", "--as", "ann")
	events := follow(t, client, "https://"+address+"/conversations/c1/events?sinceSeq=0")
	awaitLine(t, events, `"text":"hello"`)
	awaitLine(t, events, "event: caught_up")
	parley("send", "c1", "live", "--as", "bob")
	awaitLine(t, events, `"text":"live"`)
}

// fencedAs returns the code block of docs/guides/operations.md in a language.
func fencedAs(t *testing.T, language string) string {
	t.Helper()
	text := read(t, filepath.Join("..", "docs", "guides", "operations.md"))
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("docs/guides/operations.md has no block of %s", language)
	}
	return m[1]
}

func trusting(t *testing.T, cert string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(read(t, cert))) {
		t.Fatal("no certificate")
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
}

// awaitHTTP asks until there is an answer.
func awaitHTTP(t *testing.T, client *http.Client, url string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if resp, err := client.Get(url); err == nil {
			resp.Body.Close()
			return
		}
	}
	t.Fatalf("nobody answers at %s", url)
}

// follow opens an SSE stream that ends with the test, or after 2 min.
func follow(t *testing.T, client *http.Client, url string) *bufio.Scanner {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+hubproc.Token)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	return bufio.NewScanner(resp.Body)
}

func awaitLine(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the stream ended without %s: %v", text, lines.Err())
}
