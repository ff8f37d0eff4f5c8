// Package natscluster runs NATS servers with JetStream inside the process, on loopback. It is for
// tests, and for trying Parley with several hubs. In production, run each server as a separate
// process on its own machine.
//
// Unless [Options].Unsynced is set, servers sync each write before they acknowledge it. A server
// that is stopped and started again keeps its addresses and its data.
package natscluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/parleyhub/parley/internal/freeport"
)

// The users of a cluster. user belongs to the account of the streams, and systemUser to the system
// account.
const (
	user       = "parley"
	systemUser = "system"
	password   = "loopback"
)

const (
	// stateInterval is the interval at which Start checks whether the servers have a leader.
	stateInterval = 20 * time.Millisecond
	readyTimeout  = time.Minute
)

// Options configures Start. The zero value and nil are ready to use.
type Options struct {
	// Servers is the number of servers. 0 means 1.
	Servers int
	// Unsynced keeps the default of NATS: servers acknowledge a write before it is on the disk.
	Unsynced bool
	// MaxPayload limits a message, in bytes. 0 means the default of NATS, 1 MiB.
	MaxPayload int
	// TLS makes the servers accept only TLS clients with a certificate. nil means no TLS.
	TLS *TLS
}

// TLS names files: the certificate of the servers, its key, and the authority that signed the
// certificates of clients.
type TLS struct{ Cert, Key, CA string }

// Cluster is a group of running servers. Create one with Start.
type Cluster struct {
	configs []string // files
	clients []string // addresses
	monitor []string

	mu      sync.Mutex // guards the field below
	servers []*server.Server
}

// Start starts servers that keep their data in a directory, and waits until they are ready. A
// directory can have only one cluster.
func Start(ctx context.Context, dir string, o *Options) (*Cluster, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	n := max(opts.Servers, 1)
	c := &Cluster{servers: make([]*server.Server, n)}
	if err := c.configure(dir, n, opts); err != nil {
		return nil, fmt.Errorf("configure NATS servers: %w", err)
	}
	for i := range n {
		if err := c.launch(i); err != nil {
			c.Close()
			return nil, err
		}
	}
	if err := c.Ready(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// configure writes a configuration file for each server.
func (c *Cluster) configure(dir string, n int, o Options) error {
	addresses, err := freeport.Low(3 * n)
	if err != nil {
		return err
	}
	places := make([]Place, n)
	for i := range places {
		name := fmt.Sprintf("nats-%d", i+1)
		places[i] = Place{Name: name, Client: addresses[3*i], Monitor: addresses[3*i+1], Route: addresses[3*i+2],
			Dir: filepath.Join(dir, name)}
	}
	for i, p := range places {
		if err := os.MkdirAll(p.Dir, 0o700); err != nil {
			return err
		}
		file := filepath.Join(p.Dir, "server.conf")
		if err := os.WriteFile(file, []byte(Configuration(places, i, &o)), 0o600); err != nil {
			return err
		}
		c.clients = append(c.clients, p.Client)
		c.monitor = append(c.monitor, "http://"+p.Monitor)
		c.configs = append(c.configs, file)
	}
	return nil
}

// launch starts a server and waits until clients can connect to it.
func (c *Cluster) launch(i int) error {
	opts, err := server.ProcessConfigFile(c.configs[i])
	if err != nil {
		return err
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("make NATS server %d: %w", i, err)
	}
	s.Start()
	c.mu.Lock()
	c.servers[i] = s
	c.mu.Unlock()
	if !s.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("NATS server %d is not ready after %s", i, readyTimeout)
	}
	return nil
}

// Ready waits until the running servers have one leader and JetStream works.
func (c *Cluster) Ready(ctx context.Context) error {
	ticker := time.NewTicker(stateInterval)
	defer ticker.Stop()
	for !c.agree() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("NATS servers do not agree on a leader: %w", ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}

func (c *Cluster) agree() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	leaders, running, known := 0, 0, 0
	for _, s := range c.servers {
		if s == nil {
			continue
		}
		if !s.JetStreamEnabled() || len(c.servers) > 1 && !s.JetStreamIsCurrent() {
			return false
		}
		running++
		switch {
		case len(c.servers) == 1:
			leaders, known = 1, 1
		case s.JetStreamIsLeader():
			leaders++
			known = len(s.JetStreamClusterPeers())
		}
	}
	return leaders == 1 && known >= running
}

// URL returns the URL of all servers for a client of the account of the streams.
func (c *Cluster) URL() string { return c.url(user) }

// SystemURL returns the URL of all servers for a client of the system account.
func (c *Cluster) SystemURL() string { return c.url(systemUser) }

func (c *Cluster) url(user string) string {
	urls := make([]string, len(c.clients))
	for i, a := range c.clients {
		urls[i] = fmt.Sprintf("nats://%s:%s@%s", user, password, a)
	}
	return strings.Join(urls, ",")
}

// Address returns the client address of a server, HOST:PORT.
func (c *Cluster) Address(i int) string { return c.clients[i] }

// URLAt returns the URL of a server at another address, such as a proxy in front of it.
func (c *Cluster) URLAt(address string) string {
	return fmt.Sprintf("nats://%s:%s@%s", user, password, address)
}

// Monitors returns the URLs of the monitoring endpoints.
func (c *Cluster) Monitors() []string { return c.monitor }

// Config returns the configuration file of a server. "nats-server --config" runs the same server as
// a separate process.
func (c *Cluster) Config(i int) string { return c.configs[i] }

// Stop stops a server and waits for its end.
func (c *Cluster) Stop(i int) {
	c.mu.Lock()
	s := c.servers[i]
	c.servers[i] = nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Restart starts a stopped server. It does not wait for the other servers; Ready does.
func (c *Cluster) Restart(i int) error {
	c.mu.Lock()
	running := c.servers[i] != nil
	c.mu.Unlock()
	if running {
		return errors.New("the NATS server runs")
	}
	return c.launch(i)
}

// Close stops all servers.
func (c *Cluster) Close() {
	for i := range c.servers {
		c.Stop(i)
	}
}
