package command

import (
	"context"

	"github.com/parleyhub/parley"
)

// eventOverhead estimates the size of an event without its payload.
const eventOverhead = 256

// window keeps the newest events up to a number of bytes, and at least one event.
type window struct {
	most    int
	events  []parley.Event
	size    int
	omitted int
}

func (w *window) add(events ...parley.Event) {
	for _, e := range events {
		w.events = append(w.events, e)
		w.size += sizeOf(&e)
	}
	drop := 0
	for w.size > w.most && drop < len(w.events)-1 {
		w.size -= sizeOf(&w.events[drop])
		drop++
	}
	w.omitted += drop
	clear(w.events[:drop]) // release the payloads
	w.events = w.events[drop:]
}

func sizeOf(e *parley.Event) int { return len(e.Payload) + eventOverhead }

// addRange adds the messages and traces of a withdrawn range.
func (w *window) addRange(ctx context.Context, turn *parley.Turn, r parley.Withdrawn) error {
	for since := r.FromSeq - 1; since < r.ToSeq; {
		page, err := turn.Client.Tail(ctx, &parley.TailParams{ConversationID: turn.ConversationID, SinceSeq: since})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if e.Seq <= r.ToSeq && e.Turn == r.Turn {
				w.add(e)
			}
		}
		if page.NextSeq <= since {
			return nil
		}
		since = page.NextSeq
	}
	return nil
}
