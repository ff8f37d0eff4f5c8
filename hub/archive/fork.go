package archive

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// A fork says which events it shares with another conversation, and the hash that these have there. That is made again here from the other's id and the events alone.

// errLink: the hash is not that of these events.
var errLink = errors.New("the events that it shares with the other are not those of which it says the hash")

// link holds what a fork says against the events before; hash is that of the same events in the other.
func link(r *parley.ForkRecord, hash journal.Hash) error {
	if r.Hash == hex.EncodeToString(hash[:]) {
		return nil
	}
	return fmt.Errorf("a fork of %.80q at seq %d: %w: they have %.12s there, it says %.12s", r.ConversationID, r.Seq, errLink, hex.EncodeToString(hash[:]), r.Hash)
}

// kindForked stands in every event that begins a fork, and seldom in another.
var kindForked = []byte(parley.KindConversationForked)

// forkOf gives what an event says of a fork; nil for most.
func forkOf(e *parley.Event) (*parley.ForkRecord, error) {
	if e.Type != parley.TypeSystem || !bytes.Contains(e.Payload, kindForked) {
		return nil, nil
	}
	sys, err := e.System()
	if err != nil || sys.Kind != parley.KindConversationForked {
		return nil, err
	}
	if sys.Fork == nil || sys.Fork.Seq != e.Seq-1 {
		return nil, errors.New("conversation_forked without what it is a fork of, right before")
	}
	return sys.Fork, check.ForkRecord(sys.Fork)
}

// sharing keeps the events with which a conversation begins, as long as its lines follow one another: a hub writes all that a fork shares at once. One conversation
// is kept at a time, and no more of it than a fork may share.
type sharing struct {
	conversation string
	shared       [][]byte
	bytes        int64
}

// follow takes the next event of an archive, and holds it against those before if it begins a fork. It reports whether it was a fork that could not be held against them.
func (s *sharing) follow(l *eventLine, e *parley.Event) (unseen bool, err error) {
	r, err := forkOf(e)
	if err != nil {
		return false, err
	}
	if l.seq == 1 {
		*s = sharing{conversation: l.conversation}
	}
	whole := s.conversation == l.conversation && int64(len(s.shared)) == l.seq-1
	switch {
	case r != nil && !whole:
		return true, nil
	case r != nil:
		hash := journal.Genesis(r.ConversationID)
		for _, data := range s.shared {
			hash = hash.Next(data)
		}
		if err := link(r, hash); err != nil {
			return false, err
		}
	}
	s.bytes += int64(len(l.data))
	if !whole || l.seq > limits.MaxForkEvents || s.bytes > limits.MaxForkBytes {
		*s = sharing{}
		return false, nil
	}
	s.shared = append(s.shared, bytes.Clone(l.data))
	return false, nil
}

// CheckForks holds every fork of a journal against the events that it shares, and counts them. It names the first that is wrong.
func CheckForks(ctx context.Context, j journal.Journal) (n int64, err error) {
	for at := journal.Position(0); ; {
		page, err := j.Scan(at, backupPage, backupBytes)
		if err != nil || len(page) == 0 {
			return n, err
		}
		for _, r := range page {
			at = r.Position
			if !bytes.Contains(r.Data, kindForked) || strings.HasPrefix(r.Conversation, "~") {
				continue
			}
			fork, err := checkForkIn(j, &r)
			if err != nil {
				return n, fmt.Errorf("conversation %q, seq %d: %w", r.Conversation, r.Seq, err)
			}
			if fork {
				n++
			}
		}
		if err := ctx.Err(); err != nil {
			return n, err
		}
	}
}

// checkForkIn holds a record of a journal against those before, if it begins a fork.
func checkForkIn(j journal.Journal, r *journal.Record) (fork bool, err error) {
	var e parley.Event
	if err := e.UnmarshalJSON(r.Data); err != nil {
		return false, err
	}
	record, err := forkOf(&e)
	if record == nil || err != nil {
		return false, err
	}
	hash := journal.Genesis(record.ConversationID)
	for seq := int64(0); seq < record.Seq; {
		page, err := j.Read(r.Conversation, seq, int(min(record.Seq-seq, backupPage)), backupBytes)
		if err != nil {
			return true, err
		}
		if len(page) == 0 {
			return true, fmt.Errorf("the log ends at seq %d", seq)
		}
		for i := range page {
			hash, seq = hash.Next(page[i].Data), page[i].Seq
		}
	}
	return true, link(record, hash)
}

// checkForked refuses the beginning of a fork that a hub would not have written so. Where it stands, and that no session is forked, the fold knows.
func checkForked(sys *parley.System) error {
	if !parley.ValidParticipantID(sys.CreatedBy) {
		return fmt.Errorf("createdBy %.80q is no participant", sys.CreatedBy)
	}
	return check.Fork(&parley.ForkConversationParams{Seq: sys.Fork.Seq, Title: sys.Title})
}

// borrowed names a conversation that has approvals of another, and does not say that it is a fork of it: its lines are cut off before that.
func (c *planned) borrowed() error {
	if c.state.Lender == "" {
		return nil
	}
	return fmt.Errorf("it has the approvals of %q, and not the event that says that it is a fork", c.state.Lender)
}
