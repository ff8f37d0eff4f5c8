package serve

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// These tests hold the settings to what a hub does with them: each would pass no more if serve
// forgot to hand its setting on.

// post makes a call and returns the answer.
func post(t *testing.T, addr, token, body string, header ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequest("POST", "http://"+addr+"/rpc", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

const creation = `{"jsonrpc":"2.0","id":1,"method":"createConversation","params":{"participants":[{"id":"ann",` +
	`"kind":"human"}]}}`

// adminToken makes the first token of a directory.
func adminToken(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("parley", "token", "create", "--admin", "--data", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestServeLimitsTokens: limits hold for a hub, and not for a dev hub.
func TestServeLimitsTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := adminToken(t, dir)
	_, first, _ := clitest.StartHub(t, nil, "--data", dir, "--limits-write-burst", "2", "--limits-writes-per-second",
		"0.01")
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if status, answer := post(t, first.Listening, token, creation); status != want {
			t.Errorf("write %d: %d, expected %d: %s", i+1, status, want, answer)
		}
	}

	_, dev, _ := clitest.StartHub(t, nil, "--dev")
	for range 600 { // more than the default burst
		if status, answer := post(t, dev.Listening, dev.Token, creation); status != http.StatusOK {
			t.Fatalf("a dev hub has limits: %d %s", status, answer)
		}
	}
}

// TestServeTakesTokensOfTheIssuer: a token of the issuer that is set speaks as the claim that is
// set.
func TestServeTakesTokensOfTheIssuer(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/keys" {
			fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"k","x":%q}]}`,
				base64.RawURLEncoding.EncodeToString(public))
			return
		}
		fmt.Fprintf(w,
			`{"issuer":%q,"jwks_uri":%q,"authorization_endpoint":"x","token_endpoint":"x",`+
				`"id_token_signing_alg_values_supported":["EdDSA"]}`,
			issuer.URL, issuer.URL+"/keys")
	}))
	defer issuer.Close()
	signed := func(audience string) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": issuer.URL, "aud": audience, "sub": "somebody", "nick": "ann", "scope": "create admin",
			"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		})
		token.Header["kid"] = "k"
		text, err := token.SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	_, first, _ := clitest.StartHub(t, []string{"PARLEY_OIDC_AUDIENCE=parley"}, "--data", t.TempDir(), "--oidc-issuer",
		issuer.URL, "--oidc-claim", "nick")
	if status, answer := post(t, first.Listening, signed("parley"), creation); status != http.StatusOK ||
		!strings.Contains(answer, `"createdBy":"ann"`) {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := post(t, first.Listening, signed("others"), creation); status != http.StatusUnauthorized {
		t.Errorf("a token for others: %d %s", status, answer)
	}
	const stats = `{"jsonrpc":"2.0","id":1,"method":"stats"}`
	if status, answer := post(t, first.Listening, signed("parley"), stats); status != http.StatusForbidden {
		t.Errorf("an admin of the issuer's: %d %s", status, answer)
	}
	_, second, _ := clitest.StartHub(t, []string{"PARLEY_OIDC_AUDIENCE=parley"}, "--data", t.TempDir(), "--oidc-issuer",
		issuer.URL, "--oidc-claim", "nick", "--oidc-allow-admin")
	if status, answer := post(t, second.Listening, signed("parley"), stats); status != http.StatusOK {
		t.Errorf("an admin that is allowed: %d %s", status, answer)
	}
}

// TestServeBelievesTrustedProxies: what a proxy says of where a call is from counts where the proxy
// is trusted, and nowhere else.
func TestServeBelievesTrustedProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  bool
	}{
		{nil, false},
		{[]string{"--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "127.0.0.1"}, true},
	} {
		name := filepath.Join(t.TempDir(), "audit.log")
		_, first, _ := clitest.StartHub(t, nil, append(c.flags, "--dev", "--audit-log", name)...)
		post(t, first.Listening, "plt_no_such", creation, "X-Forwarded-For", "203.0.113.7")
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 {
			t.Fatalf("the refusal is not in the audit log: %q, %v", text, err)
		}
		if got := strings.Contains(string(text), "203.0.113.7"); got != c.want {
			t.Errorf("%q: the address of the header is in the audit log: %v, expected %v: %s", c.flags, got, c.want, text)
		}
	}
}

// TestServeBoundsSilentConnections: one address may have no more than maxPendingOfOne connections
// that show no token, and one that has shown a token is not among them.
func TestServeBoundsSilentConnections(t *testing.T) {
	t.Parallel()
	host := ownAddress(t)
	dir := t.TempDir()
	token := adminToken(t, dir)
	_, first, _ := clitest.StartHub(t, nil, "--listen", net.JoinHostPort(host, "0"), "--insecure-public", "--allow-host",
		host,
		"--max-pending-of-one", "2", "--data", dir)
	keeping := &http.Client{Transport: &http.Transport{}} // a separate connection
	r, err := http.NewRequest("POST", "http://"+first.Listening+"/rpc", strings.NewReader(creation))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := keeping.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()

	open := 0
	for range 4 {
		conn, err := net.Dial("tcp", first.Listening)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(clitest.Patience))
		fmt.Fprintf(conn, "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", host)
		if n, _ := conn.Read(make([]byte, 1)); n == 1 {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d connections without a token are open, expected 2", open)
	}
}

// TestServeBoundsSocketsWithoutToken: maxPending holds on loopback too.
func TestServeBoundsSocketsWithoutToken(t *testing.T) {
	t.Parallel()
	_, first, _ := clitest.StartHub(t, nil, "--dev", "--max-pending", "1")
	silent, err := wire.DialStream(t.Context(), first.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if one, err := wire.DialStream(t.Context(), first.URL, nil); err == nil {
		one.Close()
		t.Error("there are two sockets without a token")
	}
}

// TestServeKnowsItsNames: Host and Origin are checked against allowHosts and allowOrigins.
func TestServeKnowsItsNames(t *testing.T) {
	t.Parallel()
	_, first, _ := clitest.StartHub(t, []string{"PARLEY_ALLOW_HOSTS=hub.example.com,[2001:db8::1]"}, "--dev",
		"--allow-origin", "https://chat.example.com")
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"hub.example.com", "", http.StatusOK},
		{"hub.example.com:443", "https://chat.example.com", http.StatusOK},
		{"[2001:db8::1]:443", "", http.StatusOK},
		{"[2001:db8::2]", "", http.StatusForbidden},
		{"evil.example.com", "", http.StatusForbidden},
		{"localhost", "https://evil.example.com", http.StatusForbidden},
	} {
		r, err := http.NewRequest("GET", "http://"+first.Listening+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("Host %s, Origin %s: %d, expected %d", c.host, c.origin, resp.StatusCode, c.want)
		}
	}
}

// TestDoorOptions: every limit arrives under its own name.
func TestDoorOptions(t *testing.T) {
	t.Parallel()
	c := &config.Loaded{Config: config.Config{
		Limits:     config.Limits{WritesPerSecond: 1, WriteBurst: 2, BytesPerSecond: 3, ByteBurst: 4, Streams: 5},
		MaxPending: 6, MaxPendingOfOne: 7, AllowHosts: []string{"h"}, AllowOrigins: []string{"o"},
		TrustedProxies: []string{"10.0.0.0/8"},
	}}
	want := rpc.Options{
		Rates:      &rpc.Rates{WritesPerSecond: 1, WriteBurst: 2, BytesPerSecond: 3, ByteBurst: 4, Streams: 5},
		MaxPending: 6, MaxPendingOfOne: 7, AllowHosts: []string{"h"}, AllowOrigins: []string{"o"},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}
	if got := doorOptions(c, false); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, expected %+v", got, want)
	}
	want.Rates = nil
	if got := doorOptions(c, true); !reflect.DeepEqual(got, want) {
		t.Errorf("dev: %+v, expected %+v", got, want)
	}
}

// TestHTTPServerIsBounded: what a peer may send before a handler sees it has an end.
func TestHTTPServerIsBounded(t *testing.T) {
	t.Parallel()
	s := startMemory(t)
	resp, err := http.Get("http://" + s.Addr + "/livez")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	r, err := http.NewRequest("GET", "http://"+s.Addr+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Filler", strings.Repeat("x", 32<<10))
	if resp, err = http.DefaultClient.Do(r); err != nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("32 KiB of headers: %v, %v", resp, err)
	}
	for _, h := range s.http {
		if h.ReadHeaderTimeout != 5*time.Second || h.WriteTimeout != 0 || h.Protocols.HTTP2() ||
			h.Protocols.UnencryptedHTTP2() || !h.Protocols.HTTP1() {
			t.Errorf("%+v", h)
		}
	}
}

// ownAddress is an address of this machine that is not of the loopback interface.
func ownAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	clitest.LeaveOut(t, "an address other than loopback's")
	return ""
}
