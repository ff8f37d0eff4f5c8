package sdk

import (
	"context"
	"sync"
	"time"
)

// The most that one socket carries at once. Together they are below parley.MaxInFlight and
// parley.MaxSubscriptions. Further waits and subscriptions open further sockets, and further calls
// queue.
const (
	maxCalls = 24
	maxWaits = 32
	maxSubs  = 900
)

// socket is a WebSocket of a client. It gets a new connection whenever it loses one.
type socket struct {
	calls chan struct{} // holds one token for each call under way

	mu      sync.Mutex    // guards the fields below
	link    *link         // nil while there is no connection
	changed chan struct{} // closed when link changes
	waits   int           // under way
	subs    int           // under way
}

// addSocket starts a socket. l is its connection if it has one already. It returns nil if the
// client is closed.
func (c *Client) addSocket(l *link) *socket {
	s := &socket{calls: make(chan struct{}, maxCalls), link: l, changed: make(chan struct{})}
	if !c.start(func() { c.supervise(s, l) }) {
		if l != nil {
			l.close()
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sockets = append(c.sockets, s)
	return s
}

// takeSocket returns the first socket for which has is true, or adds one. has also counts the use.
// It is called with the mu of the socket held.
func (c *Client) takeSocket(has func(*socket) bool) (*socket, error) {
	c.mu.Lock()
	sockets := c.sockets // only grows
	c.mu.Unlock()
	for _, s := range sockets {
		if s.withLock(has) {
			return s, nil
		}
	}
	s := c.addSocket(nil)
	if s == nil {
		return nil, context.Cause(c.life)
	}
	s.withLock(has)
	return s, nil
}

func (s *socket) withLock(f func(*socket) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s)
}

func (c *Client) firstSocket() *socket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sockets[0]
}

// supervise keeps a socket connected until the client ends.
func (c *Client) supervise(s *socket, l *link) {
	pace := c.newPace()
	var pause time.Duration
	for c.pause(c.life, pause) == nil {
		if l == nil {
			var err error
			if l, err = c.dialHub(c.life, pace.patience); err != nil {
				c.notConnected(err)
				pause = pace.afterRound()
				continue
			}
			c.o.Logger.Info("connected to the hub", "url", l.url, "agent", c.agentID)
		}
		since := time.Now()
		next := c.holdLink(s, l)
		if pause = 0; next == nil {
			pause = pace.afterLink(l, time.Since(since))
		}
		l = next
	}
	if l != nil {
		l.close()
		l.wait()
	}
}

// notConnected ends the client when an attempt failed for good.
func (c *Client) notConnected(err error) {
	switch {
	case c.life.Err() != nil:
	case isRefusal(err):
		c.o.Logger.Error("the hub refuses this client from now on", "url", c.hubs.current(), "agent", c.agentID, "error", err)
		c.end(err)
	default:
		c.o.Logger.Debug("no connection to the hub yet", "url", c.hubs.current(), "error", err)
	}
}

// holdLink offers the connection until it is lost or the client ends. If its hub reports that other
// hubs are better, and one of them takes the client before that, holdLink returns the connection to
// that hub.
func (c *Client) holdLink(s *socket, l *link) (next *link) {
	s.setLink(l)
	select {
	case <-l.lost:
	case <-l.apart:
		next = c.seekBetterHub(l)
	case <-c.life.Done():
	}
	switch {
	case next != nil:
		c.o.Logger.Info("another hub takes this client", "url", next.url, "instead", l.url, "agent", c.agentID)
	case l.hasLost():
		c.o.Logger.Info("connection to the hub lost", "url", l.url, "agent", c.agentID)
	}
	s.setLink(nil)
	l.close()
	l.wait()
	return next
}

// seekBetterHub tries the other hubs, with the pauses of a client without a connection, until one
// takes this client. It stops when the current connection, which stays in use meanwhile, is lost.
func (c *Client) seekBetterHub(l *link) *link {
	ctx, cancel := context.WithCancel(c.life)
	defer cancel()
	c.wg.Go(func() { // under way with the supervisor, which is one of wg
		defer cancel()
		select {
		case <-l.lost:
		case <-ctx.Done():
		}
	})
	pace := c.newPace()
	for pause := pace.short(); c.pause(ctx, pause) == nil; pause = pace.afterRound() {
		next, err := c.dialOne(ctx, c.hubs.others(l.url), pace.patience)
		if err == nil {
			return next
		}
		c.o.Logger.Debug("no other hub takes this client yet", "url", l.url, "error", err)
	}
	return nil
}

func (s *socket) setLink(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitLink waits for a connection and returns it.
func (c *Client) awaitLink(ctx context.Context, s *socket) (*link, error) {
	for {
		if c.life.Err() != nil {
			return nil, context.Cause(c.life)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.mu.Lock()
		l, changed := s.link, s.changed
		s.mu.Unlock()
		if l != nil {
			return l, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.life.Done():
		}
	}
}
