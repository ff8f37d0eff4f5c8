package serve

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/sdk"
)

// TestClientCertificates: a hub with a client CA accepts only clients with a valid certificate of
// it.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca, clients, strangers := clitest.NewAuthority(t), clitest.NewAuthority(t), clitest.NewAuthority(t)
	dir := t.TempDir()
	files := ca.Write(dir, clitest.Month)
	files.ClientCA = clitest.WriteFile(t, filepath.Join(dir, "clients.pem"), clients.PEM())
	h := openTLS(t, files, io.Discard)
	addr := serveTLS(t, h)
	for _, c := range []struct {
		name string
		by   *clitest.Authority
		ends time.Duration
		hint string // empty: taken
	}{
		{"good", clients, time.Hour, ""},
		{"expired", clients, -time.Hour, "is expired"},
		{"of another authority", strangers, time.Hour, "another authority"},
		{"of the hub's authority", ca, time.Hour, "another authority"},
		{"absent", nil, 0, cli.EnvCert},
	} {
		config := &tls.Config{RootCAs: ca.Pool()}
		if c.by != nil {
			pair, err := tls.X509KeyPair(c.by.Certificate(c.ends))
			if err != nil {
				t.Fatal(err)
			}
			// As curl does, and unlike Go, show it even to a hub that says it does not know the authority.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		_, err := get(addr, config)
		if (err == nil) != (c.hint == "") || !strings.Contains(cli.TLSHint(err), c.hint) {
			t.Errorf("%s: %v, hint %q", c.name, err, cli.TLSHint(err))
		}
	}

	// The authority is taken away: its certificates are refused from the next connection on, also
	// those of clients who would resume a session.
	pair, err := tls.X509KeyPair(clients.Certificate(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	known := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{pair},
		ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	if _, err := get(addr, known); err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, files.ClientCA, strangers.PEM())
	if err := h.reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := get(addr, known); err == nil {
		t.Error("a client of the authority from before was taken")
	}
}

// TestWebSocketOverTLS: the sdk connects to a hub behind TLS, with the client certificate of the
// environment.
func TestWebSocketOverTLS(t *testing.T) {
	ca, clients := clitest.NewAuthority(t), clitest.NewAuthority(t)
	dir, clientDir := t.TempDir(), t.TempDir()
	files := ca.Write(dir, clitest.Month)
	files.ClientCA = clitest.WriteFile(t, filepath.Join(dir, "clients.pem"), clients.PEM())
	h := openTLS(t, files, io.Discard)
	hub := startMemory(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: hub.door}
	go server.Serve(tls.NewListener(l, h.config))
	t.Cleanup(func() { server.Close() })
	local := hub.Hub.Client(hub.Hub.LocalPrincipal("admin", parley.ScopeAdmin))
	defer local.Close()
	token, err := local.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "ann"})
	if err != nil {
		t.Fatal(err)
	}

	mine := clients.Write(clientDir, clitest.Month)
	t.Setenv(cli.EnvCA, clitest.WriteFile(t, filepath.Join(clientDir, "ca.pem"), ca.PEM()))
	t.Setenv(cli.EnvCert, mine.Cert)
	t.Setenv(cli.EnvKey, mine.Key)
	httpClient, err := cli.NewHTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	client, err := sdk.Dial(t.Context(), "wss://"+l.Addr().String()+"/rpc",
		&sdk.Options{Token: token.Token, HTTPClient: httpClient})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	send := func(text string) {
		t.Helper()
		_, err := client.SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: "c1", Payload: json.RawMessage(`{"text":"` + text + `"}`), Finality: parley.FinalityTurn,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1", Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
	}); err != nil {
		t.Fatal(err)
	}
	send("before")
	clitest.NewAuthority(t).Write(dir, clitest.Month)
	if err := h.reload(); err != nil {
		t.Fatal(err)
	}
	send("after") // on the socket from before: the new authority is not trusted
	if tail, err := client.Tail(t.Context(), &parley.TailParams{ConversationID: "c1"}); err != nil || tail.LatestSeq != 3 {
		t.Errorf("%+v, %v", tail, err)
	}
}
