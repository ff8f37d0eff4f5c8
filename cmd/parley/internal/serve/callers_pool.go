package serve

import (
	"time"

	"github.com/parleyhub/parley"
)

// acquire returns the client of an id. If mine is true, the caller has to make it.
func (c *callerPool) acquire(id clientID) (held *pooledClient, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, false, parley.Refuse(parley.ErrUnavailable, "the hub is about to stop", "")
	case c.calls[id.lane()] >= maxPooledCalls:
		return nil, false,
			&parley.Error{Err: parley.ErrRateLimited, Message: "too many calls of this token are under way here",
				RetryAfterMs: 1000}
	}
	if held = c.clients[id]; held == nil {
		if len(c.clients) >= maxPooledClients && !c.makeRoomLocked() {
			return nil, false,
				&parley.Error{Err: parley.ErrUnavailable, Message: "too many callers are here", RetryAfterMs: 1000}
		}
		held, mine = &pooledClient{ready: make(chan struct{})}, true
		c.clients[id] = held
	}
	held.users++
	c.calls[id.lane()]++
	if held.idle != nil {
		held.idle.Stop()
		held.idle = nil
	}
	return held, mine, nil
}

// makeRoomLocked ends a client without users. It returns false if all are used.
func (c *callerPool) makeRoomLocked() bool {
	for id, held := range c.clients {
		if held.users == 0 {
			delete(c.clients, id)
			held.over = true
			held.idle.Reset(0)
			return true
		}
	}
	return false
}

// release returns a client to the pool. A client without users ends after a while.
func (c *callerPool) release(id clientID, held *pooledClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[id.lane()]--; c.calls[id.lane()] == 0 {
		delete(c.calls, id.lane())
	}
	if held.users--; held.users == 0 && c.clients[id] == held {
		held.idle = time.AfterFunc(pooledClientIdle, func() { c.expire(id, held) })
	}
}

// expire ends a client that was without users for a while.
func (c *callerPool) expire(id clientID, held *pooledClient) {
	c.mu.Lock()
	over := held.over
	if held.users == 0 && c.clients[id] == held {
		delete(c.clients, id)
		over = true
	}
	c.mu.Unlock()
	if !over {
		return
	}
	<-held.ready
	if held.client != nil {
		_ = held.client.Close() // it has no users
	}
}

// forget forgets a client that could not be made.
func (c *callerPool) forget(id clientID, held *pooledClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clients[id] == held {
		delete(c.clients, id)
	}
}
