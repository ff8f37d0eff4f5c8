package httpapi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/rpc/internal/admission"
)

const (
	// The most requests under way of one account to one protocol, and the most streams.
	maxRequestsOfAccount, maxStreamsOfAccount = 256, 256
	// The default of Protocol.MaxStreams.
	maxStreams = 4000
	// The default of Protocol.MaxBodies.
	maxBodies = 256 << 20
	// bodyPiece is how many bytes of an arriving body are counted at once.
	bodyPiece = 64 << 10
	// stopGrace is how long requests have for an answer after Protocol.Stop.
	stopGrace = 2 * time.Second
)

// protocolServer serves a protocol and counts its requests.
type protocolServer struct {
	*Protocol
	api           *API
	most          load
	mostOfAccount load

	// The mu of requests guards the fields below.
	all       load
	byAccount map[string]*load
	idle      chan struct{} // after stopLocked: closed when no request is under way; nil before
}

// load is the use of a protocol by its requests.
type load struct {
	requests, streams int
	bytes             int64
}

func newProtocolServer(p *Protocol, a *API) *protocolServer {
	s := &protocolServer{Protocol: p, api: a, byAccount: map[string]*load{}}
	bodies := cmp.Or(p.MaxBodies, maxBodies)
	s.mostOfAccount = load{maxRequestsOfAccount, maxStreamsOfAccount, max(bodies/8, p.maxBody())}
	s.most = load{a.MaxRequests, cmp.Or(p.MaxStreams, maxStreams), max(bodies, s.mostOfAccount.bytes)}
	return s
}

// maxBody returns the greatest length of a body.
func (p *Protocol) maxBody() int64 {
	if p.MaxBody == 0 {
		return parley.MaxFrameBytes
	}
	return p.MaxBody
}

// isFull reports whether one more request would exceed a limit.
func (n *load) isFull(q *protocolRequest, most *load) bool {
	if q.stream {
		return n.streams >= most.streams
	}
	return n.requests >= most.requests
}

// countRequest adds by, which is 1 or -1, to the requests or the streams.
func (n *load) countRequest(q *protocolRequest, by int) {
	if q.stream {
		n.streams += by
	} else {
		n.requests += by
	}
}

// begin adds a request. The caller must call end.
func (p *protocolServer) begin(q *protocolRequest) error {
	t := p.api.requests
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.stopped:
		return admission.ErrStopping
	case p.all.isFull(q, &p.most) && q.stream:
		return admission.TooMany("streams open")
	case p.all.isFull(q, &p.most):
		return admission.TooMany("requests under way")
	}
	t.protocols[q] = struct{}{}
	p.all.countRequest(q, 1)
	t.wg.Add(1)
	return nil
}

// setPrincipal sets the caller of a request, and checks the limits of the account.
func (p *protocolServer) setPrincipal(q *protocolRequest, principal *hub.Principal) error {
	p.api.requests.mu.Lock()
	defer p.api.requests.mu.Unlock()
	own := p.byAccount[principal.Account]
	if own == nil {
		own = &load{}
	}
	if own.isFull(q, &p.mostOfAccount) {
		if q.stream {
			return admission.TooMany("streams of this token open")
		}
		return admission.TooMany("requests of this token under way")
	}
	p.byAccount[principal.Account] = own
	own.countRequest(q, 1)
	q.principal = principal
	return nil
}

func (p *protocolServer) end(q *protocolRequest) {
	t := p.api.requests
	t.mu.Lock()
	defer t.mu.Unlock()
	p.countBodyLocked(q, -q.bytes)
	p.all.countRequest(q, -1)
	if q.principal != nil {
		own := p.byAccount[q.principal.Account]
		if own.countRequest(q, -1); *own == (load{}) {
			delete(p.byAccount, q.principal.Account)
		}
	}
	if p.idle != nil && !q.stream && p.all.requests == 0 {
		close(p.idle)
	}
	delete(t.protocols, q)
	t.wg.Done()
}

// countBody counts n bytes of the body of a request with a principal, or refuses them.
func (p *protocolServer) countBody(q *protocolRequest, n int64) error {
	p.api.requests.mu.Lock()
	defer p.api.requests.mu.Unlock()
	switch own := p.byAccount[q.principal.Account]; {
	case own.bytes+n > p.mostOfAccount.bytes:
		return &parley.Error{
			Err: parley.ErrRateLimited, RetryAfterMs: admission.RetryMs,
			Message:  "the requests of this token that are under way hold too many bytes",
			Expected: fmt.Sprintf("at most %d bytes in all bodies", p.mostOfAccount.bytes),
		}
	case p.all.bytes+n > p.most.bytes:
		return admission.TooMany("bytes in requests under way")
	}
	p.countBodyLocked(q, n)
	return nil
}

// countBodyLocked counts bytes, which may be negative.
func (p *protocolServer) countBodyLocked(q *protocolRequest, n int64) {
	if n == 0 {
		return
	}
	q.bytes += n
	p.all.bytes += n
	p.byAccount[q.principal.Account].bytes += n
}

// stopLocked starts to end the requests of a protocol: first the others, as far as they can be
// answered, and then the streams, because peers may take the end of a stream for the end of all. It
// may be called again.
func (p *protocolServer) stopLocked() {
	if p.idle == nil {
		p.idle = make(chan struct{})
		if p.all.requests == 0 {
			close(p.idle)
		}
		p.api.requests.wg.Go(p.stop)
	}
}

func (p *protocolServer) stop() {
	p.Stop()
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.idle:
	case <-timer.C:
	}
	p.api.requests.mu.Lock()
	defer p.api.requests.mu.Unlock()
	p.api.requests.endProtocolsLocked(func(q *protocolRequest) error {
		if q.protocol == p {
			return admission.ErrStopping
		}
		return nil
	})
}

// countedBody counts the bytes of a body when they arrive, so that an announced length takes no room.
type countedBody struct {
	io.ReadCloser
	request *protocolRequest
	length  int64 // of the headers; -1: not known
	read    int64
	counted int64
}

// Read reads as long as the limits allow.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.counted {
		piece := max(b.read-b.counted, bodyPiece)
		if left := b.length - b.counted; left > 0 {
			piece = min(piece, left)
		}
		if err := b.request.protocol.countBody(b.request, piece); err != nil {
			return 0, err
		}
		b.counted += piece
	}
	return n, err
}

func joinSorted(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}
