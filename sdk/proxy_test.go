package sdk_test

import (
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy is a TCP proxy in front of a hub that can spoil connections.
type proxy struct {
	url    string
	target string
	wg     sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	dead  bool
	conns map[net.Conn]*direction
	after func() int // how many more bytes one direction of a new connection carries before it is cut; 0, any number
	cuts  int
}

// direction is what comes from a connection.
type direction struct {
	fromHub bool
	mute    bool // it is read, and goes nowhere
}

func newProxy(t *testing.T, hubURL string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		url: "ws://" + l.Addr().String() + "/rpc", target: strings.TrimSuffix(strings.TrimPrefix(hubURL, "ws://"), "/rpc"),
		conns: map[net.Conn]*direction{}, after: func() int { return 0 },
	}
	p.wg.Go(func() { p.serve(l) })
	t.Cleanup(func() {
		_ = l.Close()
		p.kill()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		if p.isDead() {
			_ = in.Close()
			continue
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(in, out) {
			_ = in.Close()
			continue
		}
		p.wg.Go(func() { p.carry(in, out) })
		p.wg.Go(func() { p.carry(out, in) })
	}
}

func (p *proxy) isDead() (dead bool) {
	p.set(func() { dead = p.dead })
	return dead
}

// keep notes a connection; it reports false when the proxy has been killed in between.
func (p *proxy) keep(in, out net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		_ = out.Close()
		return false
	}
	p.conns[in], p.conns[out] = &direction{}, &direction{fromHub: true}
	return true
}

// kill ends all connections, and each new one at once, until revive. Its port stays its own:
// another test could take one that is given up.
func (p *proxy) kill() {
	p.set(func() { p.dead = true })
	p.cut()
}

func (p *proxy) revive() { p.set(func() { p.dead = false }) }

// muteHub lets nothing more of the hub through the connections that there are; new ones are whole.
func (p *proxy) muteHub() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.conns {
		d.mute = d.fromHub
	}
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// carry copies bytes until an end is gone or enough were carried; then both are cut, in the middle
// of whatever it was.
func (p *proxy) carry(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	left := 0
	p.set(func() { left = p.after() })
	limited := left > 0
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		mute := false
		p.set(func() { d := p.conns[from]; mute = d != nil && d.mute })
		if mute {
			continue
		}
		if limited && n >= left {
			_, _ = to.Write(buf[:left])
			p.set(func() { p.cuts++ })
			return
		}
		left -= n
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// between returns numbers of a seed, so that a failure can be reproduced.
func between(seed uint64, low, high int) func() int {
	r := rand.New(rand.NewPCG(seed, seed))
	return func() int { return low + r.IntN(high-low) }
}
