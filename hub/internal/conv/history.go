package conv

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// History iterates over the committed events of a conversation after a seq. It reads the journal by
// pages, and ends after an error.
func (e *Engine) History(id string, after int64) iter.Seq2[*parley.Event, error] {
	return func(yield func(*parley.Event, error) bool) {
		for {
			events, err := e.ReadEvents(id, after, 1000)
			if err != nil {
				yield(nil, fmt.Errorf("%w: %w", ErrUnread, err))
			}
			if err != nil || len(events) == 0 {
				return
			}
			for i := range events {
				if !yield(&events[i], nil) {
					return
				}
			}
			after = events[len(events)-1].Seq
		}
	}
}

// EventAt reads a committed event.
func (e *Engine) EventAt(id string, seq int64) (*parley.Event, error) {
	events, err := e.ReadEvents(id, seq-1, 1)
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("there is no event %d in %s", seq, id)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnread, err)
	}
	return &events[0], nil
}

// AskOnce is Ask for a command that a retry does not repeat. If ctx ends first, the error is
// ErrOutcomeUnknown with the advice retry.
func (c *Conversation) AskOnce(ctx context.Context, r *Request, retry string) (*fold.Decision, error) {
	d, answered, err := c.Ask(ctx, r)
	if !answered {
		err = &parley.Error{
			Err:     errors.Join(parley.ErrOutcomeUnknown, err),
			Message: "the call ended before its answer", Expected: retry,
		}
	}
	return d, err
}
