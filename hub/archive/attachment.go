package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// kindAttachment is in every event that names a file, and rarely in others.
var kindAttachment = []byte(parley.KindAttachmentAdded)

// attachmentOf returns the file that an event adds; nil for most events.
func attachmentOf(e *parley.Event) (*journal.Hash, int64, error) {
	if e.Type != parley.TypeSystem || !bytes.Contains(e.Payload, kindAttachment) {
		return nil, 0, nil
	}
	sys, err := e.System()
	if err != nil || sys.Kind != parley.KindAttachmentAdded {
		return nil, 0, err
	}
	h := &journal.Hash{}
	if !parseHash([]byte(sys.SHA256), h) || sys.Size < 0 || sys.Size > parley.MaxAttachmentBytes {
		return nil, 0, errors.New("an attachment without its sha256 and size")
	}
	return h, sys.Size, nil
}

// attachmentIn is attachmentOf for an encoded event.
func attachmentIn(data []byte) (*journal.Hash, int64, error) {
	if !bytes.Contains(data, kindAttachment) {
		return nil, 0, nil
	}
	var e parley.Event
	if err := e.UnmarshalJSON(data); err != nil {
		return nil, 0, err
	}
	return attachmentOf(&e)
}

// Attachments returns the files that the events of a journal name.
func Attachments(ctx context.Context, j journal.Journal) (map[journal.Hash]struct{}, error) {
	named := map[journal.Hash]struct{}{}
	for at := journal.Position(0); ; {
		page, err := j.Scan(at, backupPage, backupBytes)
		if err != nil || len(page) == 0 {
			return named, err
		}
		for _, r := range page {
			h, _, err := attachmentIn(r.Data)
			if err != nil {
				return nil, fmt.Errorf("%s, seq %d: %w", r.Conversation, r.Seq, err)
			}
			if h != nil {
				named[*h] = struct{}{}
			}
			at = r.Position
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// isLost reports whether an error of a journal means that a file is missing or damaged. Other
// errors may be temporary.
func isLost(err error) bool {
	var damage *journal.DamageError
	return errors.Is(err, journal.ErrNoBlob) || errors.As(err, &damage)
}
