package history

import (
	"sync"
	"time"
)

// Recorder records the calls of any number of callers at once. The zero value is ready.
type Recorder struct {
	mu    sync.Mutex
	clock time.Time // the begin of the first call
	calls []*Call
}

// Call is a call that began. Its outcome is unknown until it ends.
type Call struct {
	recorder *Recorder
	op       Op
}

// Begin records that a caller is about to make a call.
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

// From sets the seq after which a Tail reads, where the caller chooses it after the begin.
func (c *Call) From(since int64) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	c.op.Since = since
}

// Done ends a call that succeeded with a seq.
func (c *Call) Done(seq int64) { c.end(Done, func(o *Op) { o.Seq = seq }) }

// Saw ends a Tail with the last seq of the log and the events.
func (c *Call) Saw(latest int64, seen []Entry) {
	c.end(Done, func(o *Op) { o.Seq, o.Seen = latest, seen })
}

// SawStatus ends a Latest whose answer says whether the conversation is closed.
func (c *Call) SawStatus(latest int64, over bool) {
	c.end(Done, func(o *Op) { o.Seq, o.Over = latest, &over })
}

// Closed ends a call whose answer is conversation_closed.
func (c *Call) Closed() { c.end(Closed, nil) }

// Refused ends a call with any other refusal except outcome_unknown, after which a call has no end.
func (c *Call) Refused() { c.end(Refused, nil) }

func (c *Call) end(r Result, more func(*Op)) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	c.op.End, c.op.Result = c.recorder.now(), r
	if more != nil {
		more(&c.op)
	}
}

// Ops returns all calls so far.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Op, len(r.calls))
	for i, c := range r.calls {
		all[i] = c.op
	}
	return all
}
