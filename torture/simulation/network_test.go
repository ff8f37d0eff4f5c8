package simulation

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/parleyhub/parley/internal/memnet"
)

var errDown = errors.New("nobody listens")

// network is what lies between the hub and its clients.
type network struct {
	mu       sync.Mutex       // guards the fields below
	listener *memnet.Listener // nil while the hub is down
	cables   []*cable
	cuts     int // of cables that were in use
}

// up returns the listener of a hub that has started.
func (n *network) up() *memnet.Listener {
	l := memnet.Listen()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = l
	return l
}

// down ends what up began. Every connection is cut.
func (n *network) down() {
	n.mu.Lock()
	l := n.listener
	n.listener = nil
	cables := n.cables
	n.mu.Unlock()
	_ = l.Close()
	for _, c := range cables {
		c.cut()
	}
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listener
	n.mu.Unlock()
	if l == nil {
		return nil, errDown
	}
	conn, err := l.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &cable{Conn: conn, network: n, left: [2]int{-1, -1}}
	n.mu.Lock()
	n.cables = append(n.cables, c)
	n.mu.Unlock()
	return c, nil
}

// pick returns a connection that is open, or nil; i may be any number.
func (n *network) pick(i int) *cable {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.cables) == 0 {
		return nil
	}
	return n.cables[i%len(n.cables)]
}

func (n *network) all() []*cable {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*cable(nil), n.cables...)
}

func (n *network) forget(c *cable, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, o := range n.cables {
		if o == c {
			n.cables = append(n.cables[:i:i], n.cables[i+1:]...)
			if cut {
				n.cuts++
			}
			return
		}
	}
}

// The directions of a cable.
const (
	toHub = iota
	toClient
)

// cable is the client's end of a connection. It can be set to break after a number of bytes.
type cable struct {
	net.Conn
	network *network

	mu   sync.Mutex // guards the field below
	left [2]int     // bytes that still pass; below 0, any number
}

// arm lets n more bytes pass in a direction, and then cuts.
func (c *cable) arm(direction, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left[direction] = n
}

// pass receives n bytes and returns how many of them get through.
func (c *cable) pass(direction, n int) (through int, broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.left[direction]; left >= 0 {
		through = min(n, left)
		c.left[direction] = left - through
		return through, through < n
	}
	return n, false
}

// cut ends the connection. What the hub has sent and no one has read is lost.
func (c *cable) cut() {
	c.network.forget(c, true)
	_ = c.Conn.Close()
}

func (c *cable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	through, broken := c.pass(toClient, n)
	if broken {
		c.cut()
		return through, net.ErrClosed
	}
	return n, err
}

func (c *cable) Write(p []byte) (int, error) {
	through, broken := c.pass(toHub, len(p))
	if broken {
		n, _ := c.Conn.Write(p[:through])
		c.cut()
		return n, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *cable) Close() error {
	c.network.forget(c, false)
	return c.Conn.Close()
}
