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
	// progressEvery is the shortest time between two progress traces of one tool.
	progressEvery = time.Second
	maxProgress   = 1 << 10
)

// progress writes progress traces of a tool: the first report at once, then the last report of each
// second, and the last report at the end.
type progress struct {
	call *call
	ctx  context.Context // of the call
	wake chan struct{}   // signals a new report
	over chan struct{}   // closed when the tool ends
	all  sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	last  *Progress  // not written yet
	begun bool
	ended bool
}

// progressData is the data of a progress trace.
type progressData struct {
	Key    string `json:"key"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	Progress
}

func (c *call) newProgress(ctx context.Context) *progress {
	return &progress{call: c, ctx: ctx, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// report is Call.Progress. It does not block.
func (p *progress) report(now Progress) {
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
		p.all.Go(p.run)
	}
	select {
	case p.wake <- struct{}{}:
	default: // already signaled
	}
}

// close waits until the last report is written.
func (p *progress) close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	close(p.over)
	p.all.Wait()
}

// run writes traces until the tool ends.
func (p *progress) run() {
	for {
		select {
		case <-p.wake:
		case <-p.over:
		}
		over := p.isOver()
		if now := p.takeLast(); now != nil {
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

func (p *progress) takeLast() *Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.last
	p.last = nil
	return now
}

// pause waits for the time between two traces, or until the tool ends.
func (p *progress) pause() {
	t := time.NewTimer(progressEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.over:
	}
}

// write writes a trace. A failure to write it is only logged.
func (p *progress) write(now *Progress) {
	now.Text = truncate(strings.ToValidUTF8(now.Text, "\uFFFD"), maxProgress)
	if math.IsNaN(now.Done) || math.IsInf(now.Done, 0) || math.IsNaN(now.Total) || math.IsInf(now.Total, 0) {
		now.Done, now.Total = 0, 0 // JSON has no such numbers
	}
	c := p.call
	if err := c.Record.AddTrace(p.ctx, record.KindProgress, now.Text, progressData{c.key, c.ID, c.Name, *now}); err != nil {
		c.box.o.Logger.Debug("writing the progress of a tool failed", "tool", c.Name, "error", err)
	}
}
