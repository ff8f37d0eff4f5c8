package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/natscluster"
)

const (
	servers, hubs = 3, 3
	stream        = "parley"
	// readyTime detects machines that are never ready after a start, and readyEvery is the pace at
	// which that is asked.
	readyTime  = 5 * time.Minute
	readyEvery = 100 * time.Millisecond
	askTime    = 2 * time.Second
	// runTime detects a run of the program that hangs.
	runTime = 5 * time.Minute
)

// skews are how wrong the clocks of the hubs are.
var skews = [hubs]time.Duration{5 * time.Minute, -5 * time.Minute, 0}

// cluster is the machines. The goroutine of the test alone changes it.
type cluster struct {
	t        testing.TB
	dir      string // of what the machines say
	site     site
	apart    *apart // the site, where it is one; else nil
	unsynced bool   // the servers acknowledge what is not on their disks
	servers  []*machine
	hubs     []*machine
	cut      atomic.Bool  // the power is off, or all are about to be started
	journal  string       // as --journal takes it
	token    string       // of scope admin
	http     *http.Client // for short questions
	dialer   *http.Client // makes handshakes
}

// newCluster starts one at a site, and waits until its hubs are ready.
func newCluster(t testing.TB, at site, unsynced bool) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), site: at, unsynced: unsynced}
	if *keep != "" {
		c.dir = filepath.Join(*keep, strings.ReplaceAll(t.Name(), "/", "_"))
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.apart, _ = at.(*apart)
	c.http = &http.Client{Timeout: askTime, Transport: &http.Transport{DialContext: at.dial, DisableKeepAlives: true}}
	c.dialer = &http.Client{Transport: &http.Transport{DialContext: at.dial, DisableKeepAlives: true}}
	c.addServers(numbered("nats", servers))
	c.journal = c.address()
	c.addHubs(numbered("hub", hubs))
	t.Cleanup(c.keepData) // before the disks go, and before the machines end
	c.launch(c.servers)
	c.token = c.firstToken()
	c.launch(c.hubs)
	c.ready(readyTime)
	return c
}

// keepData keeps the data and the output of all machines if the test failed and its settings
// request it. The machines end.
func (c *cluster) keepData() {
	if *keep == "" || !c.t.Failed() {
		return
	}
	for _, m := range append(c.servers[:len(c.servers):len(c.servers)], c.hubs...) {
		m.end()
		if err := os.CopyFS(filepath.Join(c.dir, m.name+".data"), os.DirFS(m.place.data())); err != nil {
			c.t.Logf("the data of %s: %v", m.name, err)
		}
	}
	c.t.Logf("what the machines have said, and their data, is in %s", c.dir)
}

func numbered(name string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", name, i+1))
	}
	return all
}

// launch starts machines.
func (c *cluster) launch(all []*machine) {
	c.t.Helper()
	for _, m := range all {
		m.start()
	}
}

// address is that of the log.
func (c *cluster) address() string {
	user, _ := natscluster.Login()
	var clients, monitors []string
	for _, m := range c.servers {
		clients, monitors = append(clients, m.client), append(monitors, "http://"+m.monitor)
	}
	a := fmt.Sprintf("nats://%s@%s?stream=%s&replicas=%d", user, strings.Join(clients, ","), stream, servers)
	if c.unsynced {
		return a + "&vouch=true"
	}
	return a + "&monitor=" + strings.Join(monitors, ",")
}

// urls are the addresses of all hubs, as PARLEY_URL takes them.
func (c *cluster) urls() string {
	var all []string
	for _, m := range c.hubs {
		all = append(all, m.url())
	}
	return strings.Join(all, ",")
}

// env is the environment of a program that opens the log.
func (c *cluster) env() []string {
	_, password := natscluster.Login()
	return append(os.Environ(), "PARLEY_NATS_PASSWORD="+password)
}

// run runs the program to its end where the clients are, and returns what it has printed.
func (c *cluster) run(args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := exec.Command(string(program), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env(), &out, &errs
	if err := c.site.do(func() error { return hubproc.Start(cmd) }); err != nil {
		return nil, err
	}
	late := time.AfterFunc(runTime, func() { cmd.Process.Signal(syscall.SIGQUIT) }) // it says where it hangs
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		return out.Bytes(), fmt.Errorf("parley %s: %w: %s", strings.Join(args[:2], " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// firstToken makes a token of scope admin, as soon as the servers let it.
func (c *cluster) firstToken() string {
	c.t.Helper()
	var made struct {
		Token string `json:"token"`
	}
	for deadline := time.Now().Add(readyTime); ; {
		c.check()
		out, err := c.run("token", "create", "--admin", "--data", c.journal, "-o", "json")
		if err == nil {
			err = json.Unmarshal(out, &made)
		}
		if err == nil {
			return made.Token
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("no token: %v\n%s", err, c.servers[0].last())
		}
	}
}

// ready waits until all hubs say that they are, and returns how long that took.
func (c *cluster) ready(within time.Duration) time.Duration {
	c.t.Helper()
	start := time.Now()
	for _, m := range c.hubs {
		for {
			c.check()
			err := c.askReady(m)
			if err == nil {
				break
			}
			if time.Since(start) > within {
				c.t.Fatalf("%s is not ready after %s: %v\n%s", m.name, within, err, m.last())
			}
			time.Sleep(readyEvery)
		}
	}
	return time.Since(start)
}

// check fails the test if a machine ends by itself.
func (c *cluster) check() {
	c.t.Helper()
	for _, m := range append(c.servers[:len(c.servers):len(c.servers)], c.hubs...) {
		if m.cmd != nil { // it was started
			m.check()
		}
	}
}

// askReady says why a hub is not ready.
func (c *cluster) askReady(m *machine) error {
	res, err := c.http.Get("http://" + m.client + "/readyz")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz: %s", res.Status)
	}
	return nil
}

// leader returns the server that leads the stream; nil where none is known.
func (c *cluster) leader() *machine {
	for _, m := range c.servers {
		ctx, cancel := context.WithTimeout(c.t.Context(), askTime) // for each: one that is paused uses up its own time only
		name, err := natscluster.Leader(ctx, c.http, "http://"+m.monitor, stream)
		cancel()
		for _, s := range c.servers {
			if err == nil && s.name == name {
				return s
			}
		}
	}
	return nil
}

// others returns the names of all machines of a list but one.
func others(all []*machine, but *machine) (names []string) {
	for _, m := range all {
		if m != but {
			names = append(names, m.name)
		}
	}
	return names
}
