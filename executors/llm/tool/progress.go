package tool

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley/executors/llm/record"
)

const (
	// progressEvery is the least time between two traces of the progress of one tool.
	progressEvery = time.Second
	maxProgress   = 1 << 10
)

// progress passes on what a tool tells of its progress: the first at once, then the last one of each second, and the last one of all when it ends.
type progress struct {
	call *call
	ctx  context.Context // of the call
	wake chan struct{}   // holds one when there is something new
	over chan struct{}   // closed when the tool has ended
	all  sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	last  *Progress  // not passed on yet
	begun bool
	ended bool
}

// told is the data of a trace of progress.
type told struct {
	Key    string `json:"key"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	Progress
}

func (c *call) newProgress(ctx context.Context) *progress {
	return &progress{call: c, ctx: ctx, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// tell is Call.Progress. It does not wait.
func (p *progress) tell(now Progress) {
	if p.call.entry.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.last = &now
	if !p.begun {
		p.begun = true
		p.all.Go(p.pass)
	}
	select {
	case p.wake <- struct{}{}:
	default: // it is awake
	}
}

// close waits until the last was passed on.
func (p *progress) close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	close(p.over)
	p.all.Wait()
}

// pass writes traces until the tool has ended.
func (p *progress) pass() {
	for {
		select {
		case <-p.wake:
		case <-p.over:
		}
		over := p.isOver()
		if now := p.take(); now != nil {
			p.write(now)
		}
		if over {
			return
		}
		p.pause()
	}
}

func (p *progress) isOver() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

func (p *progress) take() *Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.last
	p.last = nil
	return now
}

// pause waits for the time between two traces, or until the tool has ended.
func (p *progress) pause() {
	t := time.NewTimer(progressEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.over:
	}
}

// write writes a trace. One that cannot be written is missing, and nothing else.
func (p *progress) write(now *Progress) {
	now.Text = beginning(strings.ToValidUTF8(now.Text, "\uFFFD"), maxProgress)
	if math.IsNaN(now.Done) || math.IsInf(now.Done, 0) || math.IsNaN(now.Total) || math.IsInf(now.Total, 0) {
		now.Done, now.Total = 0, 0 // which JSON has not
	}
	c := p.call
	if err := c.Record.Say(p.ctx, record.KindProgress, now.Text, told{c.key, c.ID, c.Name, *now}); err != nil {
		c.box.o.Logger.Debug("progress of a tool was not written", "tool", c.Name, "error", err)
	}
}
