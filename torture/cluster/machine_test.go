package cluster

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/natscluster"
)

// machine is a server or a hub, with its network and its disk where it has them.
type machine struct {
	process
	place
	// client and monitor are addresses, HOST:PORT: of a server for clients and for monitoring, and of
	// a hub for calls
	client, monitor string
	route           string
}

// data is where it keeps what it keeps. The directory is there.
func (m *machine) data() string {
	m.t.Helper()
	dir := m.place.data()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	return dir
}

// url is where a hub takes calls.
func (m *machine) url() string { return "ws://" + m.client + "/rpc" }

// addServers makes the servers, which are not started.
func (c *cluster) addServers(names []string) {
	c.t.Helper()
	var places []natscluster.Place
	for _, name := range names {
		m := c.newMachine(name)
		m.client, m.monitor, m.route = m.address(4222), m.address(8222), m.address(6222)
		places = append(places, natscluster.Place{Name: name, Client: m.client, Monitor: m.monitor, Route: m.route,
			Dir: m.data()})
		c.servers = append(c.servers, m)
	}
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	for i, m := range c.servers {
		file := filepath.Join(c.dir, m.name+".conf")
		if err := os.WriteFile(file,
			[]byte(natscluster.Configuration(places, i, &natscluster.Options{Unsynced: c.unsynced})), 0o600); err != nil {
			c.t.Fatal(err)
		}
		m.make = func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), envServer+"="+file, envLog+"="+filepath.Join(c.dir, m.name+".nats.log"))
			return cmd
		}
	}
}

// addHubs makes the hubs, which are not started.
func (c *cluster) addHubs(names []string) {
	c.t.Helper()
	for i, name := range names {
		m := c.newMachine(name)
		m.client = m.address(7447)
		m.make = func() *exec.Cmd {
			cmd := exec.Command(string(program), "serve", "-o", "json", "--listen", m.client, "--insecure-public",
				"--allow-host", m.host(),
				"--data", m.data(), "--journal", c.journal, "--max-pending", "10000", "--max-pending-of-one", "10000",
				"--limits-writes-per-second", "1e6", "--limits-write-burst", "1000000", "--limits-bytes-per-second", "1e9",
				"--limits-byte-burst", "1000000000")
			cmd.Env = append(c.env(), "PARLEY_SKEW="+skews[i%len(skews)].String())
			return cmd
		}
		c.hubs = append(c.hubs, m)
	}
}

func (c *cluster) newMachine(name string) *machine {
	c.t.Helper()
	m := &machine{process: process{t: c.t, name: name, log: filepath.Join(c.dir, name+".log")}, place: c.site.place(name)}
	m.begin = func(cmd *exec.Cmd) error { return m.do(func() error { return hubproc.Start(cmd) }) }
	c.t.Cleanup(m.end)
	return m
}
