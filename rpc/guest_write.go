package rpc

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// guestWriter gives the peer its time for each piece that is written. A peer that does not take it ends the visit.
type guestWriter struct {
	http.ResponseWriter
	visit *visit
}

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

// WriteHeader writes the head. A stream is not to be held back by a proxy.
func (w *guestWriter) WriteHeader(status int) {
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.Header().Set("X-Accel-Buffering", "no")
	}
	_ = w.visit.begin() // what is written next tells of it
	w.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces.
func (w *guestWriter) Write(b []byte) (n int, err error) {
	if !w.visit.begun() {
		w.WriteHeader(http.StatusOK)
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
	return n, nil
}

// Flush hands on what was written.
func (w *guestWriter) Flush() { _ = w.FlushError() }

// FlushError is Flush that tells.
func (w *guestWriter) FlushError() error {
	if err := w.visit.begin(); err != nil {
		return err
	}
	err := w.visit.http.Flush()
	if err != nil {
		w.visit.cancel(errPeerGone)
	}
	return err
}
