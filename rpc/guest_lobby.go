package rpc

import (
	"cmp"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

const (
	// maxVisitsOfOne bounds the requests of one account to a guest that are under way, and maxStreamsOfOne its streams.
	maxVisitsOfOne, maxStreamsOfOne = 256, 256
	// maxStreams is Guest.MaxStreams unless told otherwise.
	maxStreams = 4000
	// maxBodies is Guest.MaxBodies unless told otherwise.
	maxBodies = 256 << 20
	// bodyPiece is what is counted at once for a body that comes.
	bodyPiece = 64 << 10
	// stopGrace is how long requests have to be answered after Guest.Stop.
	stopGrace = 2 * time.Second
)

// lobby counts the visits to one guest.
type lobby struct {
	guest  *Guest
	server *Server
	most   load // of all; of their requests Options.MaxPosts is the bound
	ofOne  load

	// The fields below are guarded by the mu of the server.
	all  load
	of   map[string]*load // by account
	left chan struct{}    // once the guest stops: closed when no request is under way; nil before
}

// load is what visits take up.
type load struct {
	requests, streams int
	bytes             int64
}

func newLobby(g *Guest, s *Server) *lobby {
	l := &lobby{guest: g, server: s, of: map[string]*load{}}
	bodies := cmp.Or(g.MaxBodies, maxBodies)
	l.ofOne = load{maxVisitsOfOne, maxStreamsOfOne, max(bodies/8, g.maxBody())}
	l.most = load{s.opts.MaxPosts, cmp.Or(g.MaxStreams, maxStreams), max(bodies, l.ofOne.bytes)}
	return l
}

// maxBody is the greatest length of a body.
func (g *Guest) maxBody() int64 {
	if g.MaxBody == 0 {
		return parley.MaxFrameBytes
	}
	return g.MaxBody
}

// full reports whether there is no room for one more visit.
func (n *load) full(v *visit, most *load) bool {
	if v.stream {
		return n.streams >= most.streams
	}
	return n.requests >= most.requests
}

// add counts a visit, or with -1 counts it no more.
func (n *load) add(v *visit, by int) {
	if v.stream {
		n.streams += by
	} else {
		n.requests += by
	}
}

// enterVisit makes a visit known. The caller owes a leaveVisit.
func (s *Server) enterVisit(v *visit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return errStopping
	case v.lobby.all.full(v, &v.lobby.most):
		return tooMany(v.kind())
	}
	s.visits[v] = struct{}{}
	v.lobby.all.add(v, 1)
	s.wg.Add(1)
	return nil
}

// kind names what there may be too many of.
func (v *visit) kind() string {
	if v.stream {
		return "streams open"
	}
	return "requests under way"
}

// nameVisit says whose a visit is. One account has only so many.
func (s *Server) nameVisit(v *visit, p *hub.Principal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := v.lobby
	mine := l.of[p.Account]
	if mine == nil {
		mine = &load{}
	}
	if mine.full(v, &l.ofOne) {
		if v.stream {
			return tooMany("streams of this token open")
		}
		return tooMany("requests of this token under way")
	}
	l.of[p.Account] = mine
	mine.add(v, 1)
	v.principal = p
	return nil
}

func (s *Server) leaveVisit(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := v.lobby
	l.countLocked(v, -v.bytes)
	l.all.add(v, -1)
	if v.principal != nil {
		mine := l.of[v.principal.Account]
		if mine.add(v, -1); *mine == (load{}) {
			delete(l.of, v.principal.Account)
		}
	}
	if l.left != nil && !v.stream && l.all.requests == 0 {
		close(l.left)
	}
	delete(s.visits, v)
	s.wg.Done()
}

// hold counts n bytes more of the body of a visit that has been named, or refuses them.
func (l *lobby) hold(v *visit, n int64) error {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	switch mine := l.of[v.principal.Account]; {
	case mine.bytes+n > l.ofOne.bytes:
		return &parley.Error{
			Err: parley.ErrRateLimited, Message: "the requests of this token that are under way hold too many bytes", RetryAfterMs: closingRetryMs,
			Expected: fmt.Sprintf("at most %d bytes in all bodies", l.ofOne.bytes),
		}
	case l.all.bytes+n > l.most.bytes:
		return tooMany("bytes in requests under way")
	}
	l.countLocked(v, n)
	return nil
}

// countLocked counts bytes of a visit; negative ones are given back.
func (l *lobby) countLocked(v *visit, n int64) {
	if n == 0 {
		return
	}
	v.bytes += n
	l.all.bytes += n
	l.of[v.principal.Account].bytes += n
}

// stopLocked has the visits end, once requests have been answered as far as they can be: streams last, as peers may take their end for that of all. It may be
// called again.
func (l *lobby) stopLocked() {
	if l.left == nil {
		l.left = make(chan struct{})
		if l.all.requests == 0 {
			close(l.left)
		}
		l.server.wg.Go(l.stop)
	}
}

func (l *lobby) stop() {
	l.guest.Stop()
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-l.left:
	case <-timer.C:
	}
	l.server.endVisits(func(v *visit) error {
		if v.lobby == l {
			return errStopping
		}
		return nil
	})
}
