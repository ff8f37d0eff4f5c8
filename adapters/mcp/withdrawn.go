package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// standing tells which events of a page count: those of an attempt that has failed do not, though the log keeps them.
type standing struct {
	heard  map[int64]bool // the messages that count
	upTo   int64          // heard has all of them up to here
	ranges []parley.Withdrawn
}

// standing asks the hub which of the events after a seq count; there are at most readAtOnce of them.
func (c *call) standing(ctx context.Context, id string, since int64) (*standing, error) {
	got, err := c.client.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: since, Limit: readAtOnce})
	if err != nil {
		return nil, err
	}
	return standingOf(got), nil
}

func standingOf(got *parley.GetUpdatesResult) *standing {
	s := &standing{heard: map[int64]bool{}, upTo: got.NextSeq, ranges: got.Withdrawn}
	for _, m := range got.Messages {
		s.heard[m.Seq] = true
	}
	return s
}

// counts reports whether an event counts. A range may end behind the page, so that of messages those count that the hub still tells.
func (s *standing) counts(e *parley.Event) bool {
	if e.Type == parley.TypeMessage && e.Seq <= s.upTo {
		return s.heard[e.Seq]
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

// before gives the ranges that were withdrawn by an event up to next: a reader may have had what is in them.
func (s *standing) before(next int64) (told []turnRange) {
	for _, w := range s.ranges {
		if w.ToSeq < next {
			told = append(told, turnRange(w))
		}
	}
	return told
}

// forget says what counts no more.
func forget(ranges []turnRange) string {
	var b strings.Builder
	for _, w := range ranges {
		fmt.Fprintf(&b, "Forget #%d to #%d (turn %d): that attempt has failed and counts no more.\n", w.FromSeq, w.ToSeq, w.Turn)
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
