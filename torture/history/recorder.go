package history

import (
	"sync"
	"time"
)

// Recorder takes the calls of any number of callers at once. The zero value is ready.
type Recorder struct {
	mu    sync.Mutex
	clock time.Time // when the first call began
	calls []*Call
}

// Call is one that has begun. Until it is ended, its outcome is unknown.
type Call struct {
	recorder *Recorder
	op       Op
}

// Begin notes that a call is about to be made.
func (r *Recorder) Begin(o Op) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock.IsZero() {
		r.clock = time.Now()
	}
	o.Begin, o.End, o.Result = r.now(), 0, Unknown
	c := &Call{recorder: r, op: o}
	r.calls = append(r.calls, c)
	return c
}

func (r *Recorder) now() int64 { return int64(time.Since(r.clock)) }

// From says after which seq a Tail reads, where that is known only once it has begun.
func (c *Call) From(since int64) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	c.op.Since = since
}

// Done ends a call that succeeded, and gives the seq that it was told.
func (c *Call) Done(seq int64) { c.end(Done, func(o *Op) { o.Seq = seq }) }

// Saw ends a Tail: the last seq of the log, and the events that came.
func (c *Call) Saw(latest int64, seen []Entry) {
	c.end(Done, func(o *Op) { o.Seq, o.Seen = latest, seen })
}

// Stood ends a Latest that was told whether the conversation is over.
func (c *Call) Stood(latest int64, over bool) {
	c.end(Done, func(o *Op) { o.Seq, o.Over = latest, &over })
}

// Closed ends a call that was answered conversation_closed.
func (c *Call) Closed() { c.end(Closed, nil) }

// Refused ends a call that was refused for any other reason, but outcome_unknown: that one is not ended.
func (c *Call) Refused() { c.end(Refused, nil) }

func (c *Call) end(r Result, more func(*Op)) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	c.op.End, c.op.Result = c.recorder.now(), r
	if more != nil {
		more(&c.op)
	}
}

// Ops gives all calls so far.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Op, len(r.calls))
	for i, c := range r.calls {
		all[i] = c.op
	}
	return all
}
