package archive

import (
	"fmt"

	"github.com/parleyhub/parley/hub/journal"
)

// CheckOptions are what a check can be told. Nil and the zero value are valid.
type CheckOptions struct {
	// WithoutAttachments takes events that name a file which is not there.
	WithoutAttachments bool
}

// Report is what a check counted.
type Report struct {
	// Backup is the first line of a backup; nil for an export.
	Backup      *Header `json:"backup,omitempty"`
	Events      int64   `json:"events"`
	Attachments int64   `json:"attachments"`
	// Missing counts the attachments that are named and not there.
	Missing int64 `json:"missing,omitempty"`
	// UnseenForks counts the forks whose shared events do not stand together in the archive: they were not held against the hash that the fork says. The log itself can
	// be checked for it once they are in one.
	UnseenForks int64 `json:"unseenForks,omitempty"`
	// Lost are those of them of which the archive says so itself, because they were gone or damaged when it was written.
	Lost          []journal.Hash `json:"-"`
	Conversations []Head         `json:"conversations"`
}

// Head is the end of a conversation. Compare it with headHash of a snapshot to know that nothing was cut off an export.
type Head struct {
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
	HeadHash       string `json:"headHash"`
	Closed         bool   `json:"closed"`
}

// LineError says which line of an archive is wrong, and why.
type LineError struct {
	Line         int
	Conversation string // empty for a line that is no event
	Seq          int64
	What         error
}

func (e *LineError) Error() string {
	if e.Conversation == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.What)
	}
	return fmt.Sprintf("line %d: conversation %q, seq %d: %v", e.Line, e.Conversation, e.Seq, e.What)
}

func (e *LineError) Unwrap() error { return e.What }
