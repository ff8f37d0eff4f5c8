package hub

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// Connection is a way on which somebody calls: a socket, or a client in the hub's process. It can be registered as an executor and hold claims;
// what has no connection, such as plain HTTP, holds them by their deadline alone.
type Connection struct {
	hub      *Hub
	internal bool
	notify   func(parley.ExecutorNotification)
	replaced func()
	executor atomic.Pointer[executor] // written with turns.mu held, as is the next
	last     atomic.Pointer[executor] // that it was when it ended

	closed bool // guarded by turns.mu

	mu    sync.Mutex // guards the fields below
	holds map[string]auth.Hold
	// blueprintsAnswered is closed by the answer to the last registerBlueprints call; nil before the first.
	blueprintsAnswered chan struct{}
}

// maxHolds is how many conversations a connection remembers; beyond that those whose claims have ended are forgotten.
const maxHolds = 10_000

// Connect begins a connection of the outside. notify is told what the connection's registration brings, in order; it must not block. replaced is called
// once when another connection has registered as the same executor: this one should end. Both may be nil.
func (h *Hub) Connect(notify func(parley.ExecutorNotification), replaced func()) *Connection {
	return &Connection{hub: h, notify: notify, replaced: replaced}
}

// connectInside begins a connection in the hub's process.
func (h *Hub) connectInside(notify func(parley.ExecutorNotification), replaced func()) *Connection {
	c := h.Connect(notify, replaced)
	c.internal = true
	return c
}

// queueBlueprints queues a registerBlueprints call, which closes answered at its end. It returns the
// channel that the call before it closes; nil for the first.
func (c *Connection) queueBlueprints(answered chan struct{}) (before <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.blueprintsAnswered = c.blueprintsAnswered, answered
	return before
}

// Close ends the connection and its registration. Its claims stand for their grace.
func (c *Connection) Close() { c.hub.turns.disconnect(c) }

// Hold implements auth.Connection.
func (c *Connection) Hold(conversation string) (auth.Hold, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.holds[conversation]
	return h, ok
}

// took notes the claim that was taken on the connection.
func (c *Connection) took(conversation string, h auth.Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds == nil {
		c.holds = make(map[string]auth.Hold, 1)
	}
	if len(c.holds) >= maxHolds {
		maps.DeleteFunc(c.holds, func(_ string, h auth.Hold) bool { return h.Over || h.Moved })
	}
	c.holds[conversation] = h
}

// ended notes that a claim has ended, and whether its turn has too. Until then the connection still implies it, and is told claim_lost.
func (c *Connection) ended(conversation string, h fold.ClaimHash, turn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hold, ok := c.holds[conversation]
	switch {
	case !ok || hold.Hash != h:
	case turn && !hold.Seatless:
		delete(c.holds, conversation)
	default:
		hold.Over = true
		c.holds[conversation] = hold
	}
}

// moved notes that another connection holds a claim now. While it stands this one implies it no more; after its end it is still told claim_lost.
func (c *Connection) moved(conversation string, h fold.ClaimHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hold, ok := c.holds[conversation]; ok && hold.Hash == h {
		hold.Moved = true
		c.holds[conversation] = hold
	}
}

// hashes gives the claims that the connection has taken last, of each conversation.
func (c *Connection) hashes() []fold.ClaimHash {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]fold.ClaimHash, 0, len(c.holds))
	for _, h := range c.holds {
		all = append(all, h.Hash)
	}
	return all
}

// movedAll is moved for all claims: another connection has taken this one's place.
func (c *Connection) movedAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.holds {
		h.Moved = true
		c.holds[id] = h
	}
}

// Implied implements auth.Connection. current is the claim of the conversation.
func (c *Connection) Implied(conversation string, current *fold.Claim) (h *fold.ClaimHash, turn int64) {
	hold, ok := c.Hold(conversation)
	if !ok || hold.Moved && current != nil && current.Hash == hold.Hash {
		return nil, 0
	}
	hash := hold.Hash // so that only this is taken from the heap
	return &hash, hold.Turn
}

// registered gives the executor that the connection is, or that it was when it ended: what was asked on it before is decided after, perhaps more than once,
// and a claim that is taken then is still that executor's. It is nil where there is none.
func (c *Connection) registered() *executor {
	if x := c.executor.Load(); x != nil {
		return x
	}
	return c.last.Load()
}

// endLocked ends the connection for good.
func (c *Connection) endLocked() {
	c.closed = true
	if x := c.executor.Load(); x != nil {
		c.last.Store(x) // first: it is never without
		c.executor.Store(nil)
	}
}

// executorOf returns the executor that the connection of p is registered as.
func executorOf(p *auth.Principal) fold.Executor {
	return connectionOf(p).executorNow()
}

// connectionOf returns the connection of p, or nil.
func connectionOf(p *auth.Principal) *Connection {
	c, _ := p.Connection().(*Connection)
	return c
}

// Attach implements auth.Connection.
func (c *Connection) Attach(p *auth.Principal) {
	if c.executor.Load() != nil {
		c.hub.turns.renew(c, p)
	}
}

func (c *Connection) executorNow() fold.Executor {
	if c == nil {
		return fold.Executor{}
	}
	e := fold.Executor{Internal: c.internal}
	if x := c.registered(); x != nil {
		e.ID, e.Owner, e.Labels = x.id, x.by.AgentID, x.labels
	}
	return e
}

// graceMs is how long a claim of the connection stands without it; 0 is for none.
func (c *Connection) graceMs() int64 {
	if c == nil {
		return 0
	}
	if x := c.registered(); x != nil {
		return x.graceMs
	}
	return parley.DefaultGraceMs
}
