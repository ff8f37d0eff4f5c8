package archive

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/parleyhub/parley/hub/journal"
)

// Fetch returns a file that an event of a conversation names. The writer checks its hash and size.
// After an error for which isLost is true, the file is marked as missing. Other errors end the
// export.
type Fetch func(conversation string, h journal.Hash, size int64) ([]byte, error)

// Writer writes the lines of an export; see NewWriter.
type Writer struct {
	// Events and Attachments count the written lines.
	Events, Attachments int64
	// Missing has the lost files, whose lines mark them as missing.
	Missing []journal.Hash
	// Lost, if not nil, is called once for each of them.
	Lost func(h journal.Hash, err error)

	out   io.Writer
	fetch Fetch
	named map[journal.Hash]struct{}
	buf   []byte
}

// keptBuffer bounds the buffer that a Writer keeps between lines.
const keptBuffer = 2 << 20

// NewWriter returns a Writer to out, with one call of Write for each line. fetch returns the files;
// nil omits them.
func NewWriter(out io.Writer, fetch Fetch) *Writer {
	return &Writer{out: out, fetch: fetch, named: map[journal.Hash]struct{}{}}
}

// Event writes an event as stored, after the file that it is the first to name. The caller ensures
// the order and the hash chain.
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
	if isLost(err) {
		return w.missing(*h, size, err)
	}
	if err != nil {
		return fmt.Errorf("attachment %x: %w", h[:6], err)
	}
	if int64(len(data)) != size || sha256.Sum256(data) != *h {
		return fmt.Errorf("attachment %x: the fetched bytes are not the file", h[:6])
	}
	w.named[*h] = struct{}{}
	w.Attachments++
	return w.line((&attachmentLine{hash: *h, size: size, data: data}).append(w.buf[:0]))
}

// missing marks a lost file. The export continues, because the other lines are intact.
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

// FromJournal returns a Fetch that reads a journal.
func FromJournal(j journal.Journal) Fetch {
	return func(_ string, h journal.Hash, _ int64) ([]byte, error) { return j.GetBlob(h) }
}
