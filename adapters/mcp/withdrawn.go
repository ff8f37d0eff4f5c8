package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// withdrawals knows which events of a page count. The log keeps the events of failed attempts, but
// they do not count.
type withdrawals struct {
	visible map[int64]bool // seqs of the messages that count
	upTo    int64          // visible has all of them up to this seq
	ranges  []parley.Withdrawn
}

// withdrawalsAfter asks the hub which of the events after a seq count. It covers readAtOnce events.
func (c *call) withdrawalsAfter(ctx context.Context, id string, since int64) (*withdrawals, error) {
	got, err := c.client.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: since, Limit: readAtOnce})
	if err != nil {
		return nil, err
	}
	return withdrawalsOf(got), nil
}

func withdrawalsOf(got *parley.GetUpdatesResult) *withdrawals {
	s := &withdrawals{visible: map[int64]bool{}, upTo: got.NextSeq, ranges: got.Withdrawn}
	for _, m := range got.Messages {
		s.visible[m.Seq] = true
	}
	return s
}

// counts reports whether an event counts. A range may end after the page; for messages the hub's
// list decides.
func (s *withdrawals) counts(e *parley.Event) bool {
	if e.Type == parley.TypeMessage && e.Seq <= s.upTo {
		return s.visible[e.Seq]
	}
	if e.Type == parley.TypeSystem {
		return true
	}
	for _, w := range s.ranges {
		if w.FromSeq <= e.Seq && e.Seq <= w.ToSeq {
			return false
		}
	}
	return true
}

// before returns the ranges that were withdrawn by an event up to next: the reader may have read
// their messages.
func (s *withdrawals) before(next int64) (ranges []turnRange) {
	for _, w := range s.ranges {
		if w.ToSeq < next {
			ranges = append(ranges, turnRange(w))
		}
	}
	return ranges
}

// withdrawnText asks the reader to ignore withdrawn messages.
func withdrawnText(ranges []turnRange) string {
	var b strings.Builder
	for _, w := range ranges {
		fmt.Fprintf(&b, "Ignore #%d to #%d (turn %d): that attempt failed, and its messages are withdrawn.\n", w.FromSeq,
			w.ToSeq, w.Turn)
	}
	return b.String()
}

// isNote reports whether an event is a note of a participant.
func isNote(e *parley.Event) bool {
	if e.Type != parley.TypeSystem {
		return false
	}
	s, err := e.System()
	return err == nil && s.Kind == parley.KindNote
}
