package turns

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/internal/limits"
)

// Connection is a lasting connection of a caller: a socket, or a client in the hub's process. It can be
// registered as an executor and hold claims. A caller without a connection, such as one over plain
// HTTP, holds claims until their deadline.
type Connection struct {
	dispatcher *Dispatcher
	internal   bool
	notify     func(parley.ExecutorNotification)
	replaced   func()
	executor   atomic.Pointer[executor] // written with Dispatcher.mu held, as is the next
	last       atomic.Pointer[executor] // the executor at the end of the connection

	closed bool // guarded by Dispatcher.mu

	mu    sync.Mutex // guards the fields below
	holds map[string]auth.Hold
	// blueprintsAnswered is closed by the answer to the last registerBlueprints call; nil before the first.
	blueprintsAnswered chan struct{}
}

var _ auth.Connection = (*Connection)(nil)

// maxHolds is how many conversations a connection remembers. Beyond that it drops those whose claims are
// over.
const maxHolds = 10_000

// NewConnection returns a connection. notify is called with the notifications of its registration, in
// order; it must not block. replaced is called once when another connection registers as the same
// executor; then this one should end. Both may be nil. internal is set for clients in the hub's process.
func (d *Dispatcher) NewConnection(
	internal bool, notify func(parley.ExecutorNotification), replaced func(),
) *Connection {
	return &Connection{dispatcher: d, internal: internal, notify: notify, replaced: replaced}
}

// QueueBlueprints queues a registerBlueprints call, which closes answered at its end. It returns the
// channel that the call before it closes; nil for the first.
func (c *Connection) QueueBlueprints(answered chan struct{}) (before <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.blueprintsAnswered = c.blueprintsAnswered, answered
	return before
}

// Registration returns the executor that c is registered as, or nil.
func (c *Connection) Registration() *fold.Executor {
	if c == nil || c.executor.Load() == nil {
		return nil
	}
	e := c.Executor()
	return &e
}

// Close ends the connection and its registration. Its claims stay for their grace period.
func (c *Connection) Close() { c.dispatcher.disconnect(c) }

// ConnectionOf returns the connection of p, or nil.
func ConnectionOf(p *auth.Principal) *Connection {
	c, _ := p.Connection().(*Connection)
	return c
}

// Attach implements auth.Connection.
func (c *Connection) Attach(p *auth.Principal) {
	if c.executor.Load() != nil {
		c.dispatcher.renewOwner(c, p)
	}
}

// Hold implements auth.Connection.
func (c *Connection) Hold(conversation string) (auth.Hold, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.holds[conversation]
	return h, ok
}

func (c *Connection) addHold(conversation string, h auth.Hold) {
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

// endHold records that a claim is over, and whether its turn is over too. If not, the connection still
// implies the claim, and its next write fails with claim_lost.
func (c *Connection) endHold(conversation string, h eventdata.ClaimHash, turnOver bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hold, ok := c.holds[conversation]
	switch {
	case !ok || hold.Hash != h:
	case turnOver && !hold.Seatless:
		delete(c.holds, conversation)
	default:
		hold.Over = true
		c.holds[conversation] = hold
	}
}

// moveHold records that another connection holds a claim. This one no longer implies it while it is
// current; afterwards its next write fails with claim_lost.
func (c *Connection) moveHold(conversation string, h eventdata.ClaimHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hold, ok := c.holds[conversation]; ok && hold.Hash == h {
		hold.Moved = true
		c.holds[conversation] = hold
	}
}

// moveAllHolds is moveHold for all claims, because another connection replaces this one.
func (c *Connection) moveAllHolds() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.holds {
		h.Moved = true
		c.holds[id] = h
	}
}

func (c *Connection) holdHashes() []eventdata.ClaimHash {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]eventdata.ClaimHash, 0, len(c.holds))
	for _, h := range c.holds {
		all = append(all, h.Hash)
	}
	return all
}

// Implied implements auth.Connection.
func (c *Connection) Implied(conversation string, current *fold.Claim) (h *eventdata.ClaimHash, turn int64) {
	hold, ok := c.Hold(conversation)
	if !ok || hold.Moved && current != nil && current.Hash == hold.Hash {
		return nil, 0
	}
	hash := hold.Hash // so that only the hash escapes to the heap
	return &hash, hold.Turn
}

// registered returns the executor of the connection, also after its end: a request from before the end
// may be decided later, and its claim is still that of the executor. It
// returns nil if the connection never had an executor.
func (c *Connection) registered() *executor {
	if x := c.executor.Load(); x != nil {
		return x
	}
	return c.last.Load()
}

func (c *Connection) endLocked() {
	c.closed = true
	if x := c.executor.Load(); x != nil {
		c.last.Store(x) // before the next line, so that registered never misses it
		c.executor.Store(nil)
	}
}

// Executor returns the executor of the connection for a command; c may be nil.
func (c *Connection) Executor() fold.Executor {
	if c == nil {
		return fold.Executor{}
	}
	e := fold.Executor{Internal: c.internal}
	if x := c.registered(); x != nil {
		e.ID, e.Owner, e.Labels = x.id, x.by.AgentID, x.labels
	}
	return e
}

// graceMs is how long a claim of the connection stays after its end; 0 without a connection.
func (c *Connection) graceMs() int64 {
	if c == nil {
		return 0
	}
	if x := c.registered(); x != nil {
		return x.graceMs
	}
	return limits.DefaultGraceMs
}
