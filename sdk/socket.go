package sdk

import (
	"context"
	"sync"
	"time"
)

// What one socket carries at once. Together they stay below parley.MaxInFlight and parley.MaxSubscriptions; further sockets are opened
// for further waits and subscriptions, and further calls queue.
const (
	maxCalls = 24
	maxWaits = 32
	maxSubs  = 900
)

// session is a socket that is opened again whenever it is lost.
type session struct {
	calls chan struct{} // holds one token for each call under way

	mu      sync.Mutex    // guards the fields below
	link    *link         // nil while there is no connection
	changed chan struct{} // closed when link changes
	waits   int           // under way
	subs    int           // under way
}

// addSession starts a session; l is its connection if it has one already. It is nil when the client is closed.
func (c *Client) addSession(l *link) *session {
	s := &session{calls: make(chan struct{}, maxCalls), link: l, changed: make(chan struct{})}
	if !c.start(func() { c.supervise(s, l) }) {
		if l != nil {
			l.close()
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = append(c.sessions, s)
	return s
}

// take finds the first session for which has is true, or adds one. has also notes what was taken; it is called with the session's mu held.
func (c *Client) take(has func(*session) bool) (*session, error) {
	c.mu.Lock()
	sessions := c.sessions // grows only
	c.mu.Unlock()
	for _, s := range sessions {
		if s.locked(has) {
			return s, nil
		}
	}
	s := c.addSession(nil)
	if s == nil {
		return nil, context.Cause(c.life)
	}
	s.locked(has)
	return s, nil
}

func (s *session) locked(f func(*session) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s)
}

func (c *Client) first() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[0]
}

// supervise keeps a session connected until the client ends.
func (c *Client) supervise(s *session, l *link) {
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
		next := c.hold(s, l)
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

// hold offers the connection until it is lost or the client ends. When its hub says that others are better, and one of them takes the client before that, hold gives the
// connection to that one.
func (c *Client) hold(s *session, l *link) (next *link) {
	s.set(l)
	select {
	case <-l.lost:
	case <-l.apart:
		next = c.seek(l)
	case <-c.life.Done():
	}
	switch {
	case next != nil:
		c.o.Logger.Info("another hub takes this client", "url", next.url, "instead", l.url, "agent", c.agentID)
	case l.hasLost():
		c.o.Logger.Info("connection to the hub lost", "url", l.url, "agent", c.agentID)
	}
	s.set(nil)
	l.close()
	l.wait()
	return next
}

// seek tries the other hubs, with the pauses of a client that has none, until one takes this client, or the connection is lost that it has and goes on with meanwhile.
func (c *Client) seek(l *link) *link {
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

func (s *session) set(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	close(s.changed)
	s.changed = make(chan struct{})
}

// await gives the connection, when there is one again.
func (c *Client) await(ctx context.Context, s *session) (*link, error) {
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
