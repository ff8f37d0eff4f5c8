// Package natscluster runs NATS servers with JetStream inside the process, on loopback: for tests,
// and for trying Parley on several hubs. Nothing here is for production, where servers are
// processes of their own on machines of their own.
//
// Servers sync always, unless told otherwise: what they acknowledge is on the disk. A server that
// is stopped and started again has the addresses and the data that it had before.
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

// Users of a cluster: one of the account in which the streams are, and one of the system account.
const (
	user       = "parley"
	systemUser = "system"
	password   = "loopback"
)

const (
	// stateInterval is how often Start looks whether the servers agree.
	stateInterval = 20 * time.Millisecond
	readyTimeout  = time.Minute
)

// Options are what Start can be told. The zero Options and nil are good.
type Options struct {
	// Servers is how many there are. 0 means 1.
	Servers int
	// Unsynced leaves the servers as they are by default: they acknowledge what is not on the disk
	// yet.
	Unsynced bool
	// MaxPayload bounds a message, in bytes. 0 means what servers do by default, 1 MiB.
	MaxPayload int
	// TLS has the servers take clients over TLS only, and only such as show a certificate. nil: in
	// clear.
	TLS *TLS
}

// TLS is files: the certificate of the servers with its key, and the authority that has signed
// those of clients.
type TLS struct{ Cert, Key, CA string }

// Cluster is some servers. Make one with Start.
type Cluster struct {
	configs []string // files
	clients []string // addresses
	monitor []string

	mu      sync.Mutex // guards the field below
	servers []*server.Server
}

// Start starts servers that keep their data in a directory, and waits until they are ready. Two
// clusters in one directory do not work.
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

// configure writes a file for each server, as an operator would.
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

// Ready waits until the servers that run have one leader and JetStream works.
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

// URL names all servers, for a client of the account in which the streams are.
func (c *Cluster) URL() string { return c.url(user) }

// SystemURL names all servers, for a client of the system account.
func (c *Cluster) SystemURL() string { return c.url(systemUser) }

func (c *Cluster) url(user string) string {
	urls := make([]string, len(c.clients))
	for i, a := range c.clients {
		urls[i] = fmt.Sprintf("nats://%s:%s@%s", user, password, a)
	}
	return strings.Join(urls, ",")
}

// Address is where a server takes clients, HOST:PORT.
func (c *Cluster) Address(i int) string { return c.clients[i] }

// URLAt names a server at another address, such as that of a proxy before it.
func (c *Cluster) URLAt(address string) string {
	return fmt.Sprintf("nats://%s:%s@%s", user, password, address)
}

// Monitors are the addresses at which the servers tell about themselves.
func (c *Cluster) Monitors() []string { return c.monitor }

// Config is the file of a server, with which "nats-server --config" runs the same as a process of
// its own.
func (c *Cluster) Config(i int) string { return c.configs[i] }

// Stop stops a server and waits until it has ended.
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

// Restart starts a server again that was stopped. It does not wait for the others: Ready does.
func (c *Cluster) Restart(i int) error {
	c.mu.Lock()
	running := c.servers[i] != nil
	c.mu.Unlock()
	if running {
		return errors.New("the NATS server runs")
	}
	return c.launch(i)
}

// Close stops all.
func (c *Cluster) Close() {
	for i := range c.servers {
		c.Stop(i)
	}
}
