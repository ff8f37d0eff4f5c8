package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// speech passes on what a program says in one turn. It belongs to one goroutine.
type speech struct {
	turn    *parley.Turn
	program *running
	dir     string

	number int   // of the last line
	deltas int64 // since the last message
	final  *line // what ends the turn; said when the program has ended well

	traces int    // made of stderr
	unsaid string // of stderr
}

// deliver passes on what the program says until it has ended, and then what ends the turn.
func (s *speech) deliver(ctx context.Context) (parley.TurnOutcome, error) {
	err := s.listen(ctx)
	if err != nil {
		s.program.Stop(err)
		<-s.program.Done()
	} else {
		err = s.take(ctx, s.program.stdout.end())
		err = cmp.Or(s.program.Wait(), err) // what a program that failed has broken off is no news
	}
	if ctx.Err() != nil { // whatever went wrong after that
		err = fmt.Errorf("the program was stopped: %w", context.Cause(ctx))
	}
	if overheard := s.overhearLast(ctx); err == nil {
		err = overheard
	}
	if err != nil {
		return "", err
	}
	return s.conclude(ctx)
}

// listen passes on what comes until the program has ended.
func (s *speech) listen(ctx context.Context) error {
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
			err = s.overhear(ctx, false)
		}
		if err != nil {
			return err
		}
	}
}

// take deals with lines of stdout.
func (s *speech) take(ctx context.Context, lines [][]byte) error {
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

func (s *speech) takeLine(ctx context.Context, text []byte) error {
	l, err := parseLine(text)
	switch {
	case err != nil:
		return err
	case s.final != nil:
		return fmt.Errorf("it comes after the one that ends the turn: expected nothing more")
	}
	if err := l.readFiles(s.dir); err != nil {
		return err
	}
	switch {
	case l.isFinal():
		s.final = l
		return nil
	case l.delta != nil:
		return s.sayDelta(ctx, *l.delta)
	case l.trace != nil:
		_, err := s.turn.Trace(ctx, *l.trace)
		return err
	}
	return s.say(ctx, l)
}

// sayDelta numbers the pieces of a message.
func (s *speech) sayDelta(ctx context.Context, text string) error {
	err := s.turn.Delta(ctx, s.deltas, text)
	s.deltas++
	return err
}

// say posts a message with its files.
func (s *speech) say(ctx context.Context, l *line) error {
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

// overhear makes a trace of what came on stderr.
func (s *speech) overhear(ctx context.Context, last bool) error {
	if s.traces >= maxChatterTraces && !last {
		return nil
	}
	if s.unsaid += s.program.stderr.fetch(last); s.unsaid == "" {
		return nil
	}
	_, err := s.turn.Trace(ctx, parley.Trace{Kind: TraceStderr, Text: s.unsaid})
	switch {
	case err == nil, errors.Is(err, parley.ErrTurnClosed), errors.Is(err, parley.ErrConversationClosed): // by the program, with its own token
		s.unsaid = ""
		s.traces++
		return nil
	case ctx.Err() != nil: // there is one more time
		return nil
	}
	return fmt.Errorf("pass on the program's stderr: %w", err)
}

// overhearLast is for the end of the program. When ctx has ended too, the last words matter most.
func (s *speech) overhearLast(ctx context.Context) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), StopWait)
		defer cancel()
	}
	return s.overhear(ctx, true)
}

// TraceStderr is the kind of the traces that are made of stderr.
const TraceStderr = "stderr"

// conclude says what ends the turn. A program that has not said it may have done so with its own token; else the attempt is a silent one.
func (s *speech) conclude(ctx context.Context) (parley.TurnOutcome, error) {
	switch {
	case s.final == nil:
		return parley.TurnPosted, nil
	case s.final.yield:
		return parley.TurnYield, nil
	}
	if err := s.say(ctx, s.final); err != nil {
		return "", err
	}
	if s.final.finality == parley.FinalityConversation {
		return parley.TurnComplete, nil
	}
	return parley.TurnPosted, nil
}
