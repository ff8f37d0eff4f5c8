package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/internal/natscluster"
	"github.com/parleyhub/parley/sdk"
)

// natsWay is the way of a hub to its NATS server, which can be cut.
type natsWay struct {
	address, target string

	mu       sync.Mutex // guards the fields below
	listener net.Listener
	conns    []net.Conn
}

func newNATSWay(t *testing.T, target string) *natsWay {
	t.Helper()
	w := &natsWay{target: target, address: "127.0.0.1:0"}
	w.mend(t)
	t.Cleanup(w.cut)
	return w
}

// mend lets connections through.
func (w *natsWay) mend(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener, w.address = l, l.Addr().String()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", w.target)
			if err != nil || !w.keep(l, in, out) {
				_ = in.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				_, _ = to.Close(), from.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
}

func (w *natsWay) keep(l net.Listener, conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conns...)
	return w.listener == l
}

// cut ends the connections, and lets none through.
func (w *natsWay) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != nil {
		_ = w.listener.Close()
	}
	w.listener = nil
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// startShared starts a hub on the log of NATS servers at an address.
func startShared(t *testing.T, servers *natscluster.Cluster, address string) *Server {
	t.Helper()
	u, err := url.Parse(servers.URLAt(address))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	t.Setenv(cli.EnvNATSPassword, password)
	where := fmt.Sprintf("nats://%s@%s?monitor=%s", u.User.Username(), address, servers.Monitors()[0])
	settings := &config.Loaded{Config: config.Config{Journal: where, Data: t.TempDir()}}
	_, j, err := journals.OpenForServe(t.Context(), settings, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Journal: j, Address: "127.0.0.1:0", Log: zerolog.Nop(), rootToken: "plt_root_of_this_test"}
	o.door.Metrics = journalMetrics(j)
	h, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // what it could not write is looked at by the test
	return h
}

// ask returns the status and the text of a plain route of a hub.
func (s *Server) ask(t *testing.T, route string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr+route, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer plt_root_of_this_test")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// until asks /readyz until it has that status.
func (s *Server) until(t *testing.T, status int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		got, text := s.ask(t, "/readyz")
		switch {
		case got == status:
			return
		case time.Now().After(deadline):
			t.Fatalf("/readyz says %d %s, expected %d", got, text, status)
		}
		time.Sleep(20 * time.Millisecond) // the hub has other things to do
	}
}

// TestHubWithoutItsServers: a hub that cannot reach the servers of its log says so, refuses writes
// by name and serves what it has; its clients go on at another hub; and when the way is there again
// it catches up by itself.
func TestHubWithoutItsServers(t *testing.T) {
	servers, err := natscluster.Start(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	w := newNATSWay(t, servers.Address(0))
	cut, whole := startShared(t, servers, w.address), startShared(t, servers, servers.Address(0))

	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c := dialAt(t, ctx, cut.URL, whole.URL)
	say := func(key string) error {
		_, err := c.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: "c1", Payload: json.RawMessage(`{"text":"hello"}`), Finality: parley.FinalityTurn,
			ClientRequestID: key,
		})
		return err
	}
	_, err = c.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: "c1", Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Participants: []parley.Participant{{ID: "admin", Kind: parley.KindHuman}},
	})
	if err := errors.Join(err, say("before")); err != nil {
		t.Fatal(err)
	}

	w.cut()
	cut.until(t, http.StatusServiceUnavailable)
	if _, text := cut.ask(t, "/readyz"); !strings.Contains(text, "cannot be reached") {
		t.Errorf("/readyz says %q", text)
	}
	apart := cut.Hub.Client(cut.Hub.LocalPrincipal("admin", parley.ScopeAdmin))
	defer apart.Close()
	_, err = apart.SendMessage(ctx,
		&parley.SendMessageParams{ConversationID: "c1", Payload: json.RawMessage(`{"text":"lost?"}`),
			Finality: parley.FinalityTurn})
	if row := parley.ErrorRowOf(err); row.Err != parley.ErrUnavailable || !row.Retryable {
		t.Errorf("a write without the servers gives %v", err)
	}
	page, err := apart.Tail(ctx, &parley.TailParams{ConversationID: "c1"})
	if err != nil || page.LatestSeq != 2 {
		t.Errorf("what the hub has: %+v, %v", page, err)
	}
	if _, text := cut.ask(t, "/metrics"); !strings.Contains(text, "parley_journal_connected 0") {
		t.Error("/metrics does not say that the hub is cut off")
	}
	if err := say("meanwhile"); err != nil {
		t.Fatal(err)
	}
	if c.URL() != whole.URL {
		t.Errorf("the client wrote through %s, want %s", c.URL(), whole.URL)
	}

	w.mend(t)
	cut.until(t, http.StatusOK)
	waited, err := apart.WaitForChange(ctx,
		&parley.WaitForChangeParams{ConversationID: "c1", SinceSeq: 2, TimeoutMs: parley.MaxWaitMs})
	if err != nil || waited.LatestSeq != 3 {
		t.Errorf("after the cut the hub has %+v, %v", waited, err)
	}
	_, text := cut.ask(t, "/metrics")
	for _, want := range []string{"parley_journal_connected 1", "parley_journal_lag 0",
		"parley_journal_published_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics does not have %q", want)
		}
	}
}

// dialAt connects to the first of two hubs, and knows the other.
func dialAt(t *testing.T, ctx context.Context, first, other string) *sdk.Client {
	t.Helper()
	for {
		c, err := sdk.Dial(ctx, first+","+other, &sdk.Options{Token: "plt_root_of_this_test"})
		if err != nil {
			t.Fatal(err)
		}
		if c.URL() == first {
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		_ = c.Close()
	}
}

// TestDocsOfSharedMetrics: docs/reference/metrics.md has a row for each metric of a shared log.
func TestDocsOfSharedMetrics(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for _, m := range sharedMetrics {
		kind := "counter"
		if m.gauge {
			kind = "gauge"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | - | %s |\n", m.name, kind, m.help)
	}
	doc := clitest.Document(t, "docs", "reference", "metrics.md")
	if !strings.Contains(doc, "|---|---|---|---|\n"+rows.String()+"\n") {
		t.Errorf("docs/reference/metrics.md does not have the rows\n%s", rows.String())
	}
}
