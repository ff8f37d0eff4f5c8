package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley/internal/sse"
)

// protocolWriter sets a deadline for each piece of an answer. A peer that misses it ends the request.
// It also writes comments to a silent stream of server-sent events.
type protocolWriter struct {
	http.ResponseWriter
	request *protocolRequest

	mu        sync.Mutex  // held during writes; guards the fields below
	keepAlive *time.Timer // of the next comment; nil if the answer is no stream of events
	wrote     time.Time   // when something was last written
	tail      string      // the last two bytes of the stream
	ended     bool        // the handler has returned
}

// Each message of a stream ends with endOfMessage. Readers of a stream ignore keepAliveComment.
const (
	endOfMessage     = "\n\n"
	keepAliveComment = ": keep-alive" + endOfMessage
)

// extendWrite sets the deadline of the next write, unless the request is cut.
func (q *protocolRequest) extendWrite() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cutOff {
		return errPeerGone
	}
	_ = q.http.SetWriteDeadline(time.Now().Add(q.protocol.api.WriteTimeout)) // fails without deadlines
	return nil
}

// beginWrite is extendWrite for a part of the answer.
func (q *protocolRequest) beginWrite() error {
	q.mu.Lock()
	q.begun = true
	q.mu.Unlock()
	return q.extendWrite()
}

// hasBegun reports whether some of the answer was written.
func (q *protocolRequest) hasBegun() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.begun
}

// WriteHeader writes the headers.
func (w *protocolWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(status)
}

// writeHeaderLocked writes the headers. Those of a stream prevent proxies from buffering it.
func (w *protocolWriter) writeHeaderLocked(status int) {
	if strings.HasPrefix(w.Header().Get("Content-Type"), sse.MediaType) {
		w.Header().Set("X-Accel-Buffering", "no")
		w.wrote, w.tail = time.Now(), endOfMessage
		if w.keepAlive == nil && !w.ended {
			w.keepAlive = time.AfterFunc(w.request.protocol.api.KeepAlive, w.writeKeepAlive)
		}
	}
	_ = w.request.beginWrite() // the next write returns its error
	w.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces.
func (w *protocolWriter) Write(b []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeLocked(b)
}

func (w *protocolWriter) writeLocked(b []byte) (n int, err error) {
	if !w.request.hasBegun() {
		w.writeHeaderLocked(http.StatusOK)
	}
	for piece := range slices.Chunk(b, streamPiece) {
		if err := w.request.beginWrite(); err != nil {
			return n, err
		}
		k, err := w.ResponseWriter.Write(piece)
		if n += k; err != nil {
			w.request.cancel(errPeerGone)
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

// Flush flushes the connection.
func (w *protocolWriter) Flush() { _ = w.FlushError() }

// FlushError is Flush with an error.
func (w *protocolWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushLocked()
}

func (w *protocolWriter) flushLocked() error {
	if err := w.request.beginWrite(); err != nil {
		return err
	}
	err := w.request.http.Flush()
	if err != nil {
		w.request.cancel(errPeerGone)
	}
	return err
}

// writeKeepAlive writes a comment to a stream that was silent, between two messages.
func (w *protocolWriter) writeKeepAlive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	period := w.request.protocol.api.KeepAlive
	next := period - time.Since(w.wrote)
	if next <= 0 && w.tail == endOfMessage {
		if _, err := w.writeLocked([]byte(keepAliveComment)); err != nil || w.flushLocked() != nil {
			return // the request ends
		}
	}
	if next <= 0 {
		next = period
	}
	w.keepAlive.Reset(next)
}

// end stops the comments. The handler has returned.
func (w *protocolWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.keepAlive != nil {
		w.keepAlive.Stop()
	}
}
