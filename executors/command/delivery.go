package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// delivery posts the output of a program in one turn. It belongs to one goroutine.
type delivery struct {
	turn    *parley.Turn
	program *running
	dir     string

	number int   // of the last line
	deltas int64 // since the last message
	final  *line // the line that ends the turn; posted after the program succeeded

	traces int    // of stderr
	unsaid string // of stderr
}

// deliver posts the output of the program until it ends, and then the message that ends the turn.
func (s *delivery) deliver(ctx context.Context) (parley.TurnOutcome, error) {
	err := s.listen(ctx)
	if err != nil {
		s.program.Stop(err)
		<-s.program.Done()
	} else {
		err = s.take(ctx, s.program.stdout.end())
		err = cmp.Or(s.program.Wait(), err) // the failure of the program takes precedence over an incomplete line
	}
	if ctx.Err() != nil { // other errors are consequences of that
		err = fmt.Errorf("the program was stopped: %w", context.Cause(ctx))
	}
	if traceErr := s.traceLastStderr(ctx); err == nil {
		err = traceErr
	}
	if err != nil {
		return "", err
	}
	return s.conclude(ctx)
}

// listen posts the output until the program ends.
func (s *delivery) listen(ctx context.Context) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		var err error
		select {
		case <-s.program.Done():
			return nil
		case <-s.program.stdout.wake:
			err = s.take(ctx, s.program.stdout.fetch())
		case <-second.C:
			err = s.traceStderr(ctx, false)
		}
		if err != nil {
			return err
		}
	}
}

// take handles lines of stdout.
func (s *delivery) take(ctx context.Context, lines [][]byte) error {
	for _, text := range lines {
		s.number++
		if isBlank(text) {
			continue
		}
		if err := s.takeLine(ctx, text); err != nil {
			return fmt.Errorf("line %d of the program's stdout: %w", s.number, err)
		}
	}
	return nil
}

func (s *delivery) takeLine(ctx context.Context, text []byte) error {
	l, err := parseLine(text)
	switch {
	case err != nil:
		return err
	case s.final != nil:
		return fmt.Errorf("unexpected line after the line that ends the turn")
	}
	if err := l.readFiles(s.dir); err != nil {
		return err
	}
	switch {
	case l.isFinal():
		s.final = l
		return nil
	case l.delta != nil:
		return s.sendDelta(ctx, *l.delta)
	case l.trace != nil:
		_, err := s.turn.Trace(ctx, *l.trace)
		return err
	}
	return s.post(ctx, l)
}

// sendDelta sends and numbers a delta.
func (s *delivery) sendDelta(ctx context.Context, text string) error {
	err := s.turn.Delta(ctx, s.deltas, text)
	s.deltas++
	return err
}

// post posts a message with its files.
func (s *delivery) post(ctx context.Context, l *line) error {
	m := *l.message
	for _, f := range l.files {
		a, err := s.turn.Attach(ctx, f.Name, f.MediaType, f.data)
		if err != nil {
			return err
		}
		m.Attachments = append(m.Attachments, a)
	}
	s.deltas = 0
	var err error
	switch {
	case l.next != "":
		_, err = s.turn.PostTo(ctx, l.next, m)
	case l.outcome != nil:
		_, err = s.turn.Complete(ctx, m, *l.outcome)
	default:
		_, err = s.turn.Post(ctx, m, l.finality)
	}
	return err
}

// traceStderr writes a trace with new text of stderr.
func (s *delivery) traceStderr(ctx context.Context, last bool) error {
	if s.traces >= maxChatterTraces && !last {
		return nil
	}
	if s.unsaid += s.program.stderr.fetch(last); s.unsaid == "" {
		return nil
	}
	_, err := s.turn.Trace(ctx, parley.Trace{Kind: TraceStderr, Text: s.unsaid})
	switch {
	case err == nil, errors.Is(err, parley.ErrTurnClosed), errors.Is(err, parley.ErrConversationClosed):
		// The program may have closed both with its own token.
		s.unsaid = ""
		s.traces++
		return nil
	case ctx.Err() != nil: // traceLastStderr follows
		return nil
	}
	return fmt.Errorf("trace the program's stderr: %w", err)
}

// traceLastStderr traces the rest of stderr after the end of the program, even if ctx is done.
func (s *delivery) traceLastStderr(ctx context.Context) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), StopWait)
		defer cancel()
	}
	return s.traceStderr(ctx, true)
}

// TraceStderr is the kind of traces with stderr.
const TraceStderr = "stderr"

// conclude ends the turn. A program without a final line can end the turn itself, with its own
// token. Otherwise the attempt counts as silent.
func (s *delivery) conclude(ctx context.Context) (parley.TurnOutcome, error) {
	switch {
	case s.final == nil:
		return parley.TurnPosted, nil
	case s.final.yield:
		return parley.TurnYield, nil
	}
	if err := s.post(ctx, s.final); err != nil {
		return "", err
	}
	if s.final.finality == parley.FinalityConversation {
		return parley.TurnComplete, nil
	}
	return parley.TurnPosted, nil
}
