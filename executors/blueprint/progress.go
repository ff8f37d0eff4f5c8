package blueprint

import (
	"context"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
)

// TraceProgress is the kind of the traces that tell what a command writes to stderr.
const TraceProgress = "progress"

const (
	// progressEvery is the least time between two of them.
	progressEvery = time.Second
	// progressOften is how long they come as often as that. From then on the pause is the time that the command has run, divided by as many as came until
	// then: what a session may hold is bounded, and a command may run for a day.
	progressOften = 10 * time.Minute
)

// pause is the time to the next trace of a command that has run for so long.
func pause(ran time.Duration) time.Duration {
	return max(progressEvery, ran/time.Duration(progressOften/progressEvery))
}

// follow tells what a command writes to stderr, until it has ended.
func (s *session) follow(ctx context.Context, p *process.Process, stderr *tail) {
	telling, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		s.tellAll(telling, stderr)
	}()
	<-p.Done()
	stop()
	<-told
	if ctx.Err() != nil {
		return // the session is over
	}
	last, cancel := context.WithTimeout(ctx, StopWait)
	defer cancel()
	s.tell(last, stderr.fetch(true))
}

// tellAll tells what is new, again and again.
func (s *session) tellAll(ctx context.Context, stderr *tail) {
	began := time.Now()
	timer := time.NewTimer(progressEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s.tell(ctx, stderr.fetch(false))
		timer.Reset(pause(time.Since(began)))
	}
}

// tell adds a trace. That it fails is no fault of the command.
func (s *session) tell(ctx context.Context, text string) {
	if text == "" {
		return
	}
	if _, err := s.turn.Trace(ctx, parley.Trace{Kind: TraceProgress, Text: text}); err != nil {
		s.log.Debug("the progress of a command could not be told", "error", err)
	}
}
