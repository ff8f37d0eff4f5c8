package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"
)

// natsCluster has several NATS servers, each a separate process with sync_always, and a stream with
// a replica on each of them. An append is a message.
type natsCluster struct {
	servers  []*natsServer
	monitors []string
}

func (c *natsCluster) about() About {
	return About{Name: "jetstream", Version: nats.VERSION, Durable: "each append is published to a stream on file by itself, sync_interval always"}
}

func (c *natsCluster) processes() (all []*process) {
	for _, s := range c.servers {
		if s.proc != nil {
			all = append(all, s.proc)
		}
	}
	return all
}

func (c *natsCluster) end() {
	for _, p := range c.processes() {
		p.end()
	}
}

// appender spreads over the servers.
func (c *natsCluster) appender(ctx context.Context, i, window int) (*lane, error) {
	return c.servers[i%len(c.servers)].appender(ctx, i, window)
}

func (c *natsCluster) appended(ctx context.Context) (int, error) { return c.servers[0].appended(ctx) }

// start starts n servers. What it has started is ended by end, also after an error.
func (c *natsCluster) start(ctx context.Context, o *Options, dir string, n int) error {
	files, err := c.configure(dir, n)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, s := range c.servers {
		s.text, s.copies = strings.Repeat("x", o.Size), n
		if s.proc, err = (program{path: self, args: []string{serveNATS, files[i]},
			stop: syscall.SIGTERM}).start(); err != nil {
			return err
		}
	}
	for _, s := range c.servers {
		s.spread = o.Conversations
		if err := s.proc.ready(ctx, s.answers); err != nil {
			return err
		}
	}
	// A stream on all of them can be made once the leader has heard of all.
	return c.servers[0].proc.ready(ctx,
		func(ctx context.Context) error { return c.servers[0].createStream(ctx, natsSpread, "c.*") })
}

// natsSilence is how long a server may be silent that has no leader yet: it answers nothing then.
const natsSilence = time.Second

// answers asks a server for something that it knows once there is a leader.
func (s *natsServer) answers(ctx context.Context) error {
	l, err := s.dial(ctx, natsCalls)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.conn.SetDeadline(time.Now().Add(natsSilence)); err != nil {
		return err
	}
	return natsCall(l, "$JS.API.INFO", "", &struct{}{})
}

// configure writes a file for each server.
func (c *natsCluster) configure(dir string, n int) (files []string, err error) {
	var ports [3][]string // of each server: for clients, for the monitor, for the others
	var routes []string
	for i := range 3 * n {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		ports[i%3] = append(ports[i%3], net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	for _, p := range ports[2] {
		routes = append(routes, strconv.Quote("nats://"+p))
	}
	for i := range n {
		home := filepath.Join(dir, fmt.Sprintf("nats-%d", i+1))
		if err := os.MkdirAll(home, 0o700); err != nil {
			return nil, err
		}
		text := fmt.Sprintf("server_name: \"nats-%d\"\nlisten: %q\nhttp: %q\njetstream { store_dir: %q, sync_interval: always }\n", i+1, ports[0][i], ports[1][i], filepath.Join(home, "data"))
		if n > 1 {
			text += fmt.Sprintf("cluster { name: compare, listen: %q, routes: [%s] }\n", ports[2][i], strings.Join(routes, ", "))
		}
		files = append(files, filepath.Join(home, "server.conf"))
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			return nil, err
		}
		c.servers = append(c.servers, &natsServer{addr: ports[0][i]})
		c.monitors = append(c.monitors, "http://"+ports[1][i])
	}
	return files, nil
}

// journal is the address of a log on the servers, as a hub takes it.
func (c *natsCluster) journal(stream string) string {
	var hosts []string
	for _, s := range c.servers {
		hosts = append(hosts, s.addr)
	}
	return fmt.Sprintf("nats://%s?stream=%s&replicas=%d&monitor=%s", strings.Join(hosts, ","), stream, len(c.servers),
		strings.Join(c.monitors, ","))
}
