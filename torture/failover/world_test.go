package failover

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/natscluster"
)

const (
	hubs    = 3
	servers = 3
	// stopWithin and hangTime detect hangs: of a hub after SIGTERM, and of any other wait.
	stopWithin = 2 * time.Minute
	hangTime   = 3 * time.Minute
)

// world is three hubs on the log of three NATS servers, which run in this process.
type world struct {
	t       *testing.T
	journal string // as --journal takes it
	token   string // of scope admin
	places  []*place
	known   []*place // by the clients that are made
}

// place is where a hub has its address and its replica, over its lives.
type place struct {
	name, addr, dir string
	url             string
	hub             *hubproc.Hub
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster, err := natscluster.Start(t.Context(), t.TempDir(), &natscluster.Options{Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	first, _, _ := strings.Cut(cluster.URL(), ",")
	u, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	var hosts []string
	for i := range servers {
		hosts = append(hosts, cluster.Address(i))
	}
	t.Setenv("PARLEY_NATS_PASSWORD", password)
	w := &world{t: t}
	w.journal = fmt.Sprintf("nats://%s@%s?stream=parley&replicas=%d&monitor=%s", u.User.Username(),
		strings.Join(hosts, ","), servers, strings.Join(cluster.Monitors(), ","))
	var made struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(program.Run(t, "token", "create", "--admin", "--data", w.journal, "-o", "json")),
		&made); err != nil {
		t.Fatal(err)
	}
	w.token = made.Token
	dir := t.TempDir()
	for i := range hubs {
		name := fmt.Sprintf("hub-%d", i+1)
		p := &place{name: name, addr: hubproc.LowAddress(t), dir: filepath.Join(dir, name)}
		w.places = append(w.places, p)
		w.start(p, program)
	}
	w.known = w.places
	return w
}

// start starts a hub in its place, and returns how long it took until it takes calls.
func (w *world) start(p *place, build hubproc.Program) time.Duration {
	w.t.Helper()
	begun := time.Now()
	p.hub = build.Serve(w.t, nil, "--data", p.dir, "--journal", w.journal, "--listen", p.addr,
		"--limits-writes-per-second", "100000")
	p.url = p.hub.URL
	return time.Since(begun)
}

// urls are the addresses of the hubs that clients know, as PARLEY_URL has them.
func (w *world) urls() string {
	var all []string
	for _, p := range w.known {
		all = append(all, p.url)
	}
	return strings.Join(all, ",")
}

// ready returns what the hub says of itself: the status of /readyz, and the text.
func (p *place) ready(ctx context.Context) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.hub.HTTP()+"/readyz", nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil {
		return 0, "", err
	}
	return resp.StatusCode, text.String(), nil
}

// until waits until /readyz has that status, and returns the text.
func (p *place) until(t *testing.T, status int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for ; ; time.Sleep(20 * time.Millisecond) {
		got, text, err := p.ready(ctx)
		switch {
		case err != nil:
			t.Fatalf("/readyz of %s has not said %d: %v", p.name, status, err)
		case got == status:
			return text
		}
	}
}
