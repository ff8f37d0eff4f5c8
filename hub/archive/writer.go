package archive

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/parleyhub/parley/hub/journal"
)

// Fetch gives a file that an event of a conversation names. The writer holds it against its hash and size. An error that IsLost knows says that
// the file is gone; any other ends the writing.
type Fetch func(conversation string, h journal.Hash, size int64) ([]byte, error)

// Writer writes the lines of an export. Make one with NewWriter.
type Writer struct {
	// Events and Attachments count what was written.
	Events, Attachments int64
	// Missing are the files that were lost: the lines say so in their place.
	Missing []journal.Hash
	// Lost, if it is set, is told of each of them, once.
	Lost func(h journal.Hash, err error)

	out   io.Writer
	fetch Fetch
	named map[journal.Hash]struct{}
	buf   []byte
}

// keptBuffer bounds the buffer that a Writer keeps between lines.
const keptBuffer = 2 << 20

// NewWriter writes to out, one call of Write for each line. fetch gives the files; nil leaves them out.
func NewWriter(out io.Writer, fetch Fetch) *Writer {
	return &Writer{out: out, fetch: fetch, named: map[journal.Hash]struct{}{}}
}

// Event writes an event as stored, and before it the file that it is the first to name. The caller keeps the order and the chain.
func (w *Writer) Event(conversation string, seq int64, hash journal.Hash, data []byte) error {
	l := eventLine{conversation: conversation, seq: seq, hash: hash, data: data}
	if !validID(conversation) {
		return fmt.Errorf("the conversation's id %.80q cannot be written", conversation)
	}
	if w.fetch != nil {
		if err := w.attachment(&l); err != nil {
			return fmt.Errorf("%s, seq %d: %w", conversation, seq, err)
		}
	}
	w.Events++
	return w.line(l.append(w.buf[:0]))
}

func (w *Writer) attachment(l *eventLine) error {
	h, size, err := attachmentIn(l.data)
	if err != nil || h == nil {
		return err
	}
	if _, known := w.named[*h]; known {
		return nil
	}
	data, err := w.fetch(l.conversation, *h, size)
	if IsLost(err) {
		return w.missing(*h, size, err)
	}
	if err != nil {
		return fmt.Errorf("attachment %x: %w", h[:6], err)
	}
	if int64(len(data)) != size || sha256.Sum256(data) != *h {
		return fmt.Errorf("attachment %x: what was given is not the file", h[:6])
	}
	w.named[*h] = struct{}{}
	w.Attachments++
	return w.line((&attachmentLine{hash: *h, size: size, data: data}).append(w.buf[:0]))
}

// missing writes that a file is lost, and goes on: everything else is worth keeping.
func (w *Writer) missing(h journal.Hash, size int64, err error) error {
	if w.Lost != nil {
		w.Lost(h, err)
	}
	w.named[h] = struct{}{}
	w.Missing = append(w.Missing, h)
	return w.line((&attachmentLine{hash: h, size: size, missing: true}).append(w.buf[:0]))
}

func (w *Writer) line(b []byte) error {
	if cap(b) <= keptBuffer {
		w.buf = b
	}
	_, err := w.out.Write(b)
	return err
}

// FromJournal fetches files from a journal.
func FromJournal(j journal.Journal) Fetch {
	return func(_ string, h journal.Hash, _ int64) ([]byte, error) { return j.GetBlob(h) }
}
