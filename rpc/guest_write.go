package rpc

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley/internal/sse"
)

// guestWriter gives the peer its time for each piece that is written. A peer that does not take it ends the visit. To a stream it gives signs of life.
type guestWriter struct {
	http.ResponseWriter
	visit *visit

	mu    sync.Mutex  // held while something is written; guards the fields below
	alive *time.Timer // of the next sign of life; nil where there are none
	wrote time.Time   // when something was written last
	tail  string      // the last two bytes of the stream
	ended bool        // the handler has returned
}

// endOfMessage ends each message of a stream, and signOfLife is what readers of a stream pass over.
const (
	endOfMessage = "\n\n"
	signOfLife   = ": keep-alive" + endOfMessage
)

// renew starts the clock for what is written next.
func (v *visit) renew() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cutOff {
		return errPeerGone
	}
	_ = v.http.SetWriteDeadline(time.Now().Add(v.server.opts.WriteTimeout)) // fails where there are no deadlines
	return nil
}

// begin is renew for what is of the answer.
func (v *visit) begin() error {
	v.mu.Lock()
	v.wrote = true
	v.mu.Unlock()
	return v.renew()
}

// begun reports whether something of the answer was written.
func (v *visit) begun() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wrote
}

// WriteHeader writes the head.
func (w *guestWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.headLocked(status)
}

// headLocked writes the head. A stream is not to be held back by a proxy, nor cut for its silence.
func (w *guestWriter) headLocked(status int) {
	if strings.HasPrefix(w.Header().Get("Content-Type"), sse.MediaType) {
		w.Header().Set("X-Accel-Buffering", "no")
		w.wrote, w.tail = time.Now(), endOfMessage
		if w.alive == nil && !w.ended {
			w.alive = time.AfterFunc(w.visit.server.opts.KeepAlive, w.beat)
		}
	}
	_ = w.visit.begin() // what is written next tells of it
	w.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces.
func (w *guestWriter) Write(b []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeLocked(b)
}

func (w *guestWriter) writeLocked(b []byte) (n int, err error) {
	if !w.visit.begun() {
		w.headLocked(http.StatusOK)
	}
	for piece := range slices.Chunk(b, feedPiece) {
		if err := w.visit.begin(); err != nil {
			return n, err
		}
		k, err := w.ResponseWriter.Write(piece)
		if n += k; err != nil {
			w.visit.cancel(errPeerGone)
			return n, err
		}
	}
	if len(b) > 0 {
		w.wrote = time.Now()
		w.tail += string(b[max(0, len(b)-len(endOfMessage)):])
		w.tail = w.tail[max(0, len(w.tail)-len(endOfMessage)):]
	}
	return n, nil
}

// Flush hands on what was written.
func (w *guestWriter) Flush() { _ = w.FlushError() }

// FlushError is Flush that tells.
func (w *guestWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushLocked()
}

func (w *guestWriter) flushLocked() error {
	if err := w.visit.begin(); err != nil {
		return err
	}
	err := w.visit.http.Flush()
	if err != nil {
		w.visit.cancel(errPeerGone)
	}
	return err
}

// beat writes a sign of life to a stream that has been silent, between two messages.
func (w *guestWriter) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	next := w.visit.server.opts.KeepAlive - time.Since(w.wrote)
	if next <= 0 && w.tail == endOfMessage {
		if _, err := w.writeLocked([]byte(signOfLife)); err != nil || w.flushLocked() != nil {
			return // the visit ends
		}
	}
	if next <= 0 {
		next = w.visit.server.opts.KeepAlive
	}
	w.alive.Reset(next)
}

// end says that the handler has returned: nothing is written any more.
func (w *guestWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.alive != nil {
		w.alive.Stop()
	}
}
