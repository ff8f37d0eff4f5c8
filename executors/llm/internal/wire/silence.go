package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// errSilent is the cause of a call that ended because the server was silent.
var errSilent = errors.New("the server is silent")

// silenceKey is the key of the *silence in the context of a call.
type silenceKey struct{}

// silence ends a call whose server sends nothing for too long. It measures only the time in which
// the call waits for the server, so that a slow reader does not count. A nil silence does nothing.
type silence struct {
	limit time.Duration
	timer *time.Timer
}

func newSilence(limit time.Duration, end func()) *silence {
	s := &silence{limit: limit, timer: time.AfterFunc(limit, end)}
	s.timer.Stop()
	return s
}

// begin starts to wait for the next bytes.
func (s *silence) begin() {
	if s != nil {
		s.timer.Reset(s.limit)
	}
}

// end ends the wait.
func (s *silence) end() {
	if s != nil {
		s.timer.Stop()
	}
}

// silent returns the error of a call whose server was silent. err is the error with which the call
// ended.
func (f Faults) silent(limit time.Duration, err error) *llm.ProviderError {
	e := &llm.ProviderError{Category: llm.CategoryTimeout, Retryable: true,
		Message: fmt.Sprintf("the server sent nothing for %s", limit)}
	var ended *llm.ProviderError
	if errors.As(err, &ended) {
		e.RequestID, e.Usage = ended.RequestID, ended.Usage
	}
	return f.clean(e)
}
