package blueprint

import (
	"context"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
)

// TraceProgress is the kind of traces with stderr of a command.
const TraceProgress = "progress"

const (
	// progressEvery is the shortest pause between two traces.
	progressEvery = time.Second
	// progressOften is how long traces are that frequent. After that the pause is the run time
	// divided by the number of traces up to then, because a session has a limited size and a
	// command may run for a day.
	progressOften = 10 * time.Minute
)

// pause returns the time to the next trace of a command that has run for the given time.
func pause(ran time.Duration) time.Duration {
	return max(progressEvery, ran/time.Duration(progressOften/progressEvery))
}

// follow traces stderr of a command until it ends.
func (s *session) follow(ctx context.Context, p *process.Process, stderr *tail) {
	telling, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		s.traceUntilDone(telling, stderr)
	}()
	<-p.Done()
	stop()
	<-told
	if ctx.Err() != nil {
		return // the session is over
	}
	last, cancel := context.WithTimeout(ctx, StopWait)
	defer cancel()
	s.traceProgress(last, stderr.fetch(true))
}

// traceUntilDone traces new text periodically.
func (s *session) traceUntilDone(ctx context.Context, stderr *tail) {
	began := time.Now()
	timer := time.NewTimer(progressEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s.traceProgress(ctx, stderr.fetch(false))
		timer.Reset(pause(time.Since(began)))
	}
}

// traceProgress writes a trace. A failure is only logged.
func (s *session) traceProgress(ctx context.Context, text string) {
	if text == "" {
		return
	}
	if _, err := s.turn.Trace(ctx, parley.Trace{Kind: TraceProgress, Text: text}); err != nil {
		s.log.Debug("writing the progress of a command failed", "error", err)
	}
}
