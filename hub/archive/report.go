package archive

import (
	"fmt"

	"github.com/parleyhub/parley/hub/journal"
)

// CheckOptions are the options of a check. Nil and the zero value are valid.
type CheckOptions struct {
	// WithoutAttachments accepts events that name a missing file.
	WithoutAttachments bool
}

// Report is the result of a check.
type Report struct {
	// Backup is the first line of a backup; nil for an export.
	Backup      *Header `json:"backup,omitempty"`
	Events      int64   `json:"events"`
	Attachments int64   `json:"attachments"`
	// Missing counts the named attachments that are missing.
	Missing int64 `json:"missing,omitempty"`
	// UnseenForks counts the forks whose shared events are not consecutive lines, so that their
	// hash was not checked. CheckForks checks them in the journal after an import.
	UnseenForks int64 `json:"unseenForks,omitempty"`
	// Lost has the missing attachments that the archive marks as missing or damaged.
	Lost          []journal.Hash `json:"-"`
	Conversations []Head         `json:"conversations"`
}

// Head is the end of a conversation. Compare it with headHash of a snapshot to detect missing lines
// at the end of an export.
type Head struct {
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
	HeadHash       string `json:"headHash"`
	Closed         bool   `json:"closed"`
}

// LineError is the error of one line of an archive.
type LineError struct {
	Line         int
	Conversation string // empty for a line that has no event
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
