// Package proxy passes TCP connections on to one address and cuts each at a byte that its user
// chooses: in the middle of a handshake, of a frame or between two. It is for tests.
package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Never as a plan lets a connection be.
const Never int64 = -1

// pieceBytes is how much is passed on at once.
const pieceBytes = 4 << 10

// Proxy is one. It listens on loopback.
type Proxy struct {
	listener net.Listener
	target   string
	plan     func() int64
	calm     atomic.Bool
	counts   counts

	mu     sync.Mutex // guards the fields below
	pairs  map[*pair]struct{}
	closed bool
	wg     sync.WaitGroup
}

type counts struct{ conns, cuts, early, inside, bytes atomic.Int64 }

// Counts is what a proxy has done.
type Counts struct {
	// Conns is the number of accepted connections, and Bytes the number of forwarded bytes in both
	// directions.
	Conns, Bytes int64
	// Cuts are the connections that it has cut; Early those of them that had passed less than
	// EarlyBytes; Inside those of which it had more in hand that belonged to the same piece.
	Cuts, Early, Inside int64
}

// EarlyBytes is less than a WebSocket's handshake and a login need, both ways together.
const EarlyBytes = 512

// Start starts a proxy to target. plan is asked at each connection after how many bytes, both ways
// together, it is to be cut; negative is never.
func Start(target string, plan func() int64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, plan: plan, pairs: map[*pair]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where it listens: HOST:PORT.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Calm lets all connections be from now on, those that are open too.
func (p *Proxy) Calm() { p.calm.Store(true) }

// Counts says what it has done so far.
func (p *Proxy) Counts() Counts {
	c := &p.counts
	return Counts{Conns: c.conns.Load(), Bytes: c.bytes.Load(), Cuts: c.cuts.Load(), Early: c.early.Load(),
		Inside: c.inside.Load()}
}

// Close ends it and all its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.pairs {
		c.end(false)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		p.counts.conns.Add(1)
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close() // as a hub that is down would
		return
	}
	c := &pair{proxy: p, client: client, server: server, planned: p.plan()}
	if !p.add(c) {
		c.end(false)
		return
	}
	defer p.remove(c)
	var both sync.WaitGroup
	both.Go(func() { c.pass(server, client) })
	both.Go(func() { c.pass(client, server) })
	both.Wait()
}

func (p *Proxy) add(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.pairs[c] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) remove(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, c)
}

// pair is a connection and the one behind it.
type pair struct {
	proxy          *Proxy
	client, server net.Conn
	planned        int64
	passed         atomic.Int64
	ending         sync.Once
}

// pass passes on what comes from one end to the other, until the end or the cut.
func (c *pair) pass(to, from net.Conn) {
	defer c.end(false)
	buf := make([]byte, pieceBytes)
	for {
		n, err := from.Read(buf)
		whole := n
		cut := false
		if c.planned >= 0 && !c.proxy.calm.Load() {
			if over := c.passed.Add(int64(n)) - c.planned; over >= 0 {
				n, cut = max(n-int(over), 0), true
			}
		}
		if _, werr := to.Write(buf[:n]); werr != nil {
			return
		}
		c.proxy.counts.bytes.Add(int64(n))
		if cut {
			c.cut(n < whole)
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.end(true)
			}
			return
		}
	}
}

// cut counts a cut and makes it.
func (c *pair) cut(inside bool) {
	if !c.end(c.planned%2 == 0) {
		return
	}
	counts := &c.proxy.counts
	counts.cuts.Add(1)
	if c.planned < EarlyBytes {
		counts.early.Add(1)
	}
	if inside {
		counts.inside.Add(1)
	}
}

// end closes both ends, once; hard is with a reset, which also throws away what is under way.
func (c *pair) end(hard bool) (first bool) {
	c.ending.Do(func() {
		first = true
		for _, conn := range []net.Conn{c.client, c.server} {
			if tcp, ok := conn.(*net.TCPConn); ok && hard {
				tcp.SetLinger(0)
			}
			conn.Close()
		}
	})
	return first
}
