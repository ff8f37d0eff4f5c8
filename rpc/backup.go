package rpc

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// backupPiece is how much of a backup is given to the connection at once: a peer that takes less in WriteTimeout is gone.
const backupPiece = 64 << 10

// serveBackup streams a backup to callers with scope admin. One that ends without its last line was cut off, and the connection with it.
func (s *Server) serveBackup(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	post, err := s.beginPost(w, cancel, r.Body != http.NoBody)
	if err != nil {
		s.writeProblem(w, err)
		return
	}
	defer s.endPost(post)
	p, err := s.caller(r)
	if err != nil {
		s.writeProblem(w, err)
		return
	}
	out := &pieces{ctx: ctx, w: w, post: post, timeout: s.opts.WriteTimeout}
	stop := out.endWith(s.hub.Done())
	defer stop()
	buffered := bufio.NewWriterSize(out, backupPiece)
	trailer, err := s.hub.Backup(ctx, p, buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil && !out.begun {
		s.refuseBackup(ctx, w, r, p, err)
		return
	}
	s.audit.line(s.audit.granting, "backup", append(attributes(s.address(r), p.AgentID, p.TokenID, "backup"),
		slog.Int64("records", trailer.Records), slog.Bool("whole", err == nil)))
	if err != nil {
		s.log.Warn("a backup was cut off", "tokenId", hostile(p.TokenID), "error", err)
		hangUp() // the peer shall not take it for whole
	}
}

// refuseBackup answers a backup of which nothing was written.
func (s *Server) refuseBackup(ctx context.Context, w http.ResponseWriter, r *http.Request, p *hub.Principal, err error) {
	if errors.Is(err, parley.ErrForbidden) {
		s.audit.refused(refusal{event: "scope_refused", from: s.address(r), agent: p.AgentID, tokenID: p.TokenID, method: "backup", err: err})
	}
	s.refuseBegun(ctx, w, "backup", err)
}

// pieces writes the body of an answer of any length, with a deadline for each piece.
type pieces struct {
	ctx     context.Context
	w       http.ResponseWriter
	post    *post
	timeout time.Duration
	begun   bool

	mu sync.Mutex // held to set a deadline, so that the last one stands
}

func (o *pieces) Write(b []byte) (n int, err error) {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "application/x-ndjson")
		noStore(o.w.Header())
	}
	for err == nil && n < len(b) {
		var m int
		if err = o.extend(); err == nil {
			m, err = o.w.Write(b[n:min(len(b), n+backupPiece)])
		}
		n += m
	}
	return n, err
}

// extend gives the next piece its time, unless the answer is to end.
func (o *pieces) extend() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() == nil {
		_ = o.post.http.SetWriteDeadline(time.Now().Add(o.timeout)) // fails where there are no deadlines
	}
	return o.ctx.Err()
}

// endWith cuts the answer off when done is closed. stop ends the waiting.
func (o *pieces) endWith(done <-chan struct{}) (stop func()) {
	stopped := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stopped:
		case <-done:
			o.mu.Lock()
			defer o.mu.Unlock()
			o.post.cut()
		}
	})
	return func() {
		close(stopped)
		waiting.Wait()
	}
}
