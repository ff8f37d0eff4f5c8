package agent

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
)

const (
	// deltaEvery is how long text is collected before it is sent.
	deltaEvery = 30 * time.Millisecond
	// deltaWait limits the time to send one delta.
	deltaWait = 2 * time.Second
)

// deltaSender sends the text of the model to live subscribers while the model writes it. It never
// blocks the receiver of the stream. A delta that cannot be sent is not an error, because the final
// message has the whole text. The deltas of each text are numbered from 0 without a gap.
//
// It has one goroutine, from the first piece until close.
type deltaSender struct {
	ctx  context.Context // of the turn
	turn *parley.Turn
	log  *slog.Logger
	wake chan struct{} // signals pending text
	done chan struct{} // closed when the goroutine ends

	mu      sync.Mutex // guards the fields below
	running bool
	ended   bool
	restart bool // the pending text starts a new text
	pending strings.Builder
}

func newDeltaSender(ctx context.Context, turn *parley.Turn, log *slog.Logger) *deltaSender {
	return &deltaSender{ctx: ctx, turn: turn, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// startText drops pending text before another text.
func (s *deltaSender) startText() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending.Reset()
	s.restart = true
}

// handleEvent handles an event of a stream.
func (s *deltaSender) handleEvent(e llm.Event) error {
	if e.Type != llm.EventDelta || e.Delta == "" && !e.Restart {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Restart {
		s.pending.Reset()
		s.restart = true
	}
	s.pending.WriteString(e.Delta)
	if !s.running && !s.ended {
		s.running = true
		go s.run()
	}
	s.signal()
	return nil
}

func (s *deltaSender) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close sends the pending text, and waits for the goroutine.
func (s *deltaSender) close() {
	s.mu.Lock()
	running := s.running && !s.ended
	s.ended = true
	s.mu.Unlock()
	if running {
		s.signal()
		<-s.done
	}
}

// run sends the pending text until close.
func (s *deltaSender) run() {
	defer close(s.done)
	index := int64(0)
	for {
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
		text, restart, ended := s.takePending()
		for text != "" {
			if restart {
				index, restart = 0, false
			}
			piece := text[:cutAt(text, parley.MaxDeltaBytes)]
			text = text[len(piece):]
			if !s.send(index, piece) {
				return
			}
			index++
		}
		if ended {
			return
		}
		s.pause()
	}
}

// pause waits while further text is collected.
func (s *deltaSender) pause() {
	t := time.NewTimer(deltaEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// takePending returns and clears the pending text.
func (s *deltaSender) takePending() (text string, restart, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, restart = s.pending.String(), s.restart
	s.pending.Reset()
	if text != "" {
		s.restart = false
	}
	return strings.ToValidUTF8(text, "\uFFFD"), restart, s.ended
}

func (s *deltaSender) send(index int64, text string) bool {
	ctx, cancel := context.WithTimeout(s.ctx, deltaWait)
	defer cancel()
	if err := s.turn.Delta(ctx, index, text); err != nil {
		s.log.Debug("sending deltas stopped", "error", err)
		return false
	}
	return true
}

// cutAt returns the length of a prefix of text that has at most the given bytes and does not split
// a rune.
func cutAt(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
