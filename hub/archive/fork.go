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

// A fork names the events that it shares with another conversation, and their hash there. The hash
// is computed from the id of the other conversation and these events alone.

// errLink means that the events do not have the hash that the fork names.
var errLink = errors.New("the shared events do not have the hash that the fork names")

// link compares a fork with the hash that its shared events have in the other conversation.
func link(r *parley.ForkRecord, hash journal.Hash) error {
	if r.Hash == hex.EncodeToString(hash[:]) {
		return nil
	}
	return fmt.Errorf("a fork of %.80q at seq %d: %w: they have %.12s there, it says %.12s", r.ConversationID, r.Seq,
		errLink, hex.EncodeToString(hash[:]), r.Hash)
}

// kindForked is in every event that starts a fork, and rarely in others.
var kindForked = []byte(parley.KindConversationForked)

// forkOf returns the fork that an event starts; nil for most events.
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

// sharing has the first events of a conversation while its lines are consecutive, because a hub
// writes all events that a fork shares at once. It keeps one conversation at a time, up to the
// bounds of a fork.
type sharing struct {
	conversation string
	shared       [][]byte
	bytes        int64
}

// follow adds the next event of an archive. If the event starts a fork, follow checks the shared
// events. unseen means that it could not.
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

// CheckForks checks the shared events of every fork of a journal, and counts the forks. It returns
// an error for the first invalid fork.
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

// checkForkIn checks the events before a record, if the record starts a fork.
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

// checkForked refuses the start of a fork that no hub writes. The fold checks its
// place, and that no session is forked.
func checkForked(sys *parley.System) error {
	if !parley.ValidParticipantID(sys.CreatedBy) {
		return fmt.Errorf("createdBy %.80q is no participant", sys.CreatedBy)
	}
	return check.Fork(&parley.ForkConversationParams{Seq: sys.Fork.Seq, Title: sys.Title})
}

// borrowed refuses a conversation that has approvals of another one and no event that makes it a
// fork: its lines are cut off before that.
func (c *planned) borrowed() error {
	if c.state.Lender == "" {
		return nil
	}
	return fmt.Errorf("it has the approvals of %q, and not the event that says that it is a fork", c.state.Lender)
}
