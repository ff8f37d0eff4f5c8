package rpc

import (
	"errors"
	"sync/atomic"

	"github.com/parleyhub/parley"
)

// counters are what the doors count while they work. Counting never waits.
type counters struct {
	refusals map[string]*atomic.Int64 // by reason, one for each of parley.Errors; the map does not change
	logins   atomic.Int64             // tokens and tickets that were not taken
	conns    atomic.Int64             // connections that were closed because too many had not shown a token
	streams  atomic.Int64             // SSE streams that are open

	received, sent traffic // over WebSockets
}

func newCounters() counters {
	refusals := make(map[string]*atomic.Int64, len(parley.Errors))
	for _, row := range parley.Errors {
		refusals[row.Reason()] = new(atomic.Int64)
	}
	return counters{refusals: refusals}
}

// refused counts a call or a request that is answered with err. Every door counts where it encodes the answer.
func (n *counters) refused(err error) { n.refusals[parley.ErrorRowOf(err).Reason()].Add(1) }

// login counts a token or a ticket that was shown, if err refuses it: it is not valid, or not for the id that was named.
func (n *counters) login(err error) {
	if errors.Is(err, parley.ErrUnauthenticated) || errors.Is(err, parley.ErrForbidden) {
		n.logins.Add(1)
	}
}

// traffic counts text frames and the bytes of their text.
type traffic struct {
	frames, bytes atomic.Int64
}

func (t *traffic) add(frames, bytes int) {
	t.frames.Add(int64(frames))
	t.bytes.Add(int64(bytes))
}

func (t *traffic) counted() parley.Traffic {
	return parley.Traffic{Frames: t.frames.Load(), Bytes: t.bytes.Load()}
}
