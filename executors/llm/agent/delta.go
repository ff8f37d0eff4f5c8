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
	// deltaEvery is how long pieces are gathered.
	deltaEvery = 30 * time.Millisecond
	// deltaWait bounds telling one of them.
	deltaWait = 2 * time.Second
)

// speaker tells live subscribers what the model says while it says it. It never holds up who listens to the model, and that something cannot be told is no fault: the final
// message has all. Each text begins with index 0, and has no gap from there.
//
// It has one goroutine, from the first piece until close.
type speaker struct {
	ctx  context.Context // of the turn
	turn *parley.Turn
	log  *slog.Logger
	wake chan struct{} // a token: there is something to tell
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards the fields below
	running bool
	ended   bool
	anew    bool // what waits begins a text
	waits   strings.Builder
}

func newSpeaker(ctx context.Context, turn *parley.Turn, log *slog.Logger) *speaker {
	return &speaker{ctx: ctx, turn: turn, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// begin drops what waits: another text follows.
func (s *speaker) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits.Reset()
	s.anew = true
}

// hear takes an event of a stream.
func (s *speaker) hear(e llm.Event) error {
	if e.Type != llm.EventDelta || e.Delta == "" && !e.Restart {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Restart {
		s.waits.Reset()
		s.anew = true
	}
	s.waits.WriteString(e.Delta)
	if !s.running && !s.ended {
		s.running = true
		go s.tell()
	}
	s.signal()
	return nil
}

func (s *speaker) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close tells what waits, and returns when nothing is told any more.
func (s *speaker) close() {
	s.mu.Lock()
	running := s.running && !s.ended
	s.ended = true
	s.mu.Unlock()
	if running {
		s.signal()
		<-s.done
	}
}

// tell passes on what comes, gathered, until close.
func (s *speaker) tell() {
	defer close(s.done)
	index := int64(0)
	for {
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
		text, anew, ended := s.take()
		for text != "" {
			if anew {
				index, anew = 0, false
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
		s.gather()
	}
}

// gather waits a little, less when there is no more to come.
func (s *speaker) gather() {
	t := time.NewTimer(deltaEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// take gives what waits.
func (s *speaker) take() (text string, anew, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, anew = s.waits.String(), s.anew
	s.waits.Reset()
	if text != "" {
		s.anew = false
	}
	return strings.ToValidUTF8(text, "\uFFFD"), anew, s.ended
}

func (s *speaker) send(index int64, text string) bool {
	ctx, cancel := context.WithTimeout(s.ctx, deltaWait)
	defer cancel()
	if err := s.turn.Delta(ctx, index, text); err != nil {
		s.log.Debug("no more deltas are told", "error", err)
		return false
	}
	return true
}

// cutAt gives the length of the beginning of a text that has at most so many bytes, in whole code points.
func cutAt(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
