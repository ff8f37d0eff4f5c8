// Package journal says what a log must do to carry a hub, whatever is below it.
//
// # Guarantees of every journal
//
//   - Conditional: a batch names the seq that it expects to follow. If the conversation's head is another one, nothing of
//     the batch is written and Done gets a *MovedError. Two batches can never both follow one seq.
//   - Durable: when Done is called without error, the batch survives kill -9 and power loss.
//   - Honest: an error other than ErrOutcomeUnknown means that nothing of the batch is or will ever be in the log.
//   - Ordered: the seqs of a conversation are 1, 2, 3, ... without gap. Batches of one conversation that were
//     submitted in order are decided in that order, and their Done are called in that order.
//   - Chained: every record carries SHA-256(hash of the record before || data); the hash before the first is
//     SHA-256 of the conversation's id (Genesis). A record that fails its checksum or its chain is named in a *DamageError; it is never
//     served as if whole.
//   - Final: after a batch with Final nothing more is taken for that conversation.
//
// What Read, Scan, Last, Head, Open, Labeled and LabeledBefore give is committed; they never show a batch before it is durable.
package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Sentinel errors of every journal.
var (
	// ErrStorageFull: there is no room. Nothing was written; reads go on, and writes resume when there is room again.
	ErrStorageFull = errors.New("journal: storage full")
	// ErrOutcomeUnknown: the commit failed in a way that does not tell whether the batch is in the log. The journal takes
	// no more writes; it must be opened again to know.
	ErrOutcomeUnknown = errors.New("journal: outcome of the commit unknown")
	// ErrClosed: the journal was closed. Nothing was written.
	ErrClosed = errors.New("journal: closed")
	// ErrOverloaded: more batches wait for their commit than the journal holds. Nothing was written; try again.
	ErrOverloaded = errors.New("journal: overloaded")
	// ErrUnavailable: what the journal rests on cannot be reached. Nothing was written; try again.
	ErrUnavailable = errors.New("journal: unavailable")
	// ErrInvalid: the batch is outside the bounds that stand at Batch. Nothing was written.
	ErrInvalid = errors.New("journal: invalid batch")
	// ErrFinal: the conversation is closed. Nothing was written.
	ErrFinal = errors.New("journal: conversation is final")
	// ErrInUse: another process has the journal open.
	ErrInUse = errors.New("journal: in use by another process")
	// ErrFormat: the data was written by a version of the format that this one does not read.
	ErrFormat = errors.New("journal: unknown format version")
	// ErrNoBlob: there is no blob of that hash.
	ErrNoBlob = errors.New("journal: no such blob")
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// Genesis is the hash before the first record of a conversation.
func Genesis(conversation string) Hash { return sha256.Sum256([]byte(conversation)) }

// Next is the hash of a record with this data that follows h.
func (h Hash) Next(data []byte) Hash {
	d := sha256.New()
	d.Write(h[:])
	d.Write(data)
	var n Hash
	d.Sum(n[:0])
	return n
}

// Head is where a conversation stands. The zero Head means that it has no record.
type Head struct {
	Seq   int64
	Hash  Hash
	Final bool
}

// Position is a place in commit order: 1, 2, 3, ... over all conversations. 0 is before the first.
type Position uint64

// Record is one record of the log.
type Record struct {
	Position     Position
	Conversation string
	Seq          int64
	Hash         Hash
	// Final is set on the last record of a closed conversation.
	Final bool
	// Labels are those that the batch gave; they stand on its first record.
	Labels []string
	// Data is the event as it is sent. It belongs to the receiver.
	Data []byte
}

// Bounds of a batch, in bytes. A batch outside them gets ErrInvalid.
const (
	// MaxNameBytes bounds a conversation's id and a label. Both have at least one byte.
	MaxNameBytes = 255
	// MaxLabels bounds the labels of one batch.
	MaxLabels = 255
	// MaxBatchBytes bounds the events of one batch together.
	MaxBatchBytes = 32 << 20
)

// Batch is some events of one conversation that are appended together or not at all.
type Batch struct {
	Conversation string
	// After is the seq that the batch expects to follow; 0 means that the conversation has no record.
	After int64
	// On, if it is there, is the hash that the head must have too. Who submits a batch behind one that is not answered yet gives it where others append to
	// the same conversation: the seqs may be right when the events are not.
	On *Hash
	// Events are the encoded events. The journal may keep the slices until Done; nobody changes them. A batch without events is a check: it writes nothing, and its
	// Done tells whether After, and On, held at a time after Submit was called. Where others append to the same journal and a reader may be behind them, that is how
	// one knows that a head is the head. Once Done is called, the reads show whatever was acknowledged anywhere before Submit, of any conversation: also a check that
	// is good says so.
	Events [][]byte
	// Final: the last event closes the conversation.
	Final bool
	// Labels: from now on the conversation is listed under these. One that it has already is not listed twice.
	Labels []string
	// Seal, if not nil, is called when the journal takes the batch from its queue. It sets After, On,
	// Events, Final and Labels, which are empty before. It is called at most once, before Done, on a
	// goroutine of the journal that holds no lock, and must not block.
	Seal func(*Batch)
	// Done is called exactly once, on a goroutine of the journal that holds no lock. It must not block.
	Done func(Head, error)
}

// Sealed returns the batch after a call of Seal.
func (b Batch) Sealed() Batch {
	if b.Seal != nil {
		b.Seal(&b)
		b.Seal = nil
	}
	return b
}

// MovedError says that the head was not where a batch expected it.
type MovedError struct {
	Conversation string
	Expected     int64
	Head         Head
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("journal: head of %s is %d, expected %d", e.Conversation, e.Head.Seq, e.Expected)
}

// DamageError names a place that is not what was written.
type DamageError struct {
	File         string // base name of the file, where there is one
	Position     Position
	Conversation string // empty where it cannot be told
	Seq          int64
	What         string // one phrase, such as "checksum" or "hash chain"
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("journal: damaged record: %s at position %d (conversation %q, seq %d, file %s)",
		e.What, e.Position, e.Conversation, e.Seq, e.File)
}

// Listed is a row of Labeled: a conversation and the position at which it got the label.
type Listed struct {
	Conversation string
	Position     Position
}

// Journal is a log of many conversations. All methods may be called from any goroutine. After Close those that return an error
// return ErrClosed.
type Journal interface {
	// Submit queues a batch and returns at once. One committer drains the queue into one commit after another; no timer waits
	// for more. After Close, or after a commit with unknown outcome, Done gets ErrClosed or ErrOutcomeUnknown. When too much waits,
	// Done gets ErrOverloaded.
	Submit(b Batch)

	// Head gives the committed head.
	Head(conversation string) (Head, error)

	// Read gives records after a seq, in order, at most limit of them and, but for the first, at most maxBytes of data. It is
	// empty at the head. A limit below 1 is taken as 1, here and in all lists.
	Read(conversation string, after int64, limit, maxBytes int) ([]Record, error)

	// Last gives the position of the last committed record; 0 when there is none.
	Last() Position

	// Scan gives records of all conversations in commit order.
	Scan(after Position, limit, maxBytes int) ([]Record, error)

	// Watch gives a channel that is closed by the next commit after the call, or by Close.
	Watch() <-chan struct{}

	// Open gives the conversations that are not final, by id, after one.
	Open(after string, limit int) ([]string, error)

	// Labeled gives the conversations that have a label, in the order in which they got it, after a position. The empty label lists all
	// conversations, by their first record.
	Labeled(label string, after Position, limit int) ([]Listed, error)

	// LabeledBefore is Labeled the other way: the last first, before a position. 0 is behind all.
	LabeledBefore(label string, before Position, limit int) ([]Listed, error)

	// SaveState keeps derived state of a conversation at a seq, replacing what was kept. It may be lost; it is never relied
	// on. It fails with ErrOverloaded when too many states wait for the disk. LoadState gives it back, or nil.
	SaveState(conversation string, seq int64, state []byte) error
	LoadState(conversation string) (seq int64, state []byte, err error)

	// PutBlob keeps data under its SHA-256, durably. GetBlob checks it on the way out; ErrNoBlob when there is none.
	PutBlob(data []byte) (Hash, error)
	GetBlob(h Hash) ([]byte, error)

	// Verify reads everything and reports the first damage as a *DamageError, else what it counted.
	Verify(ctx context.Context) (Report, error)

	// Size is the bytes on disk.
	Size() int64

	// Close takes no more batches, commits those that were submitted, and gives the files back.
	Close() error
}

// Report is what Verify counted.
type Report struct {
	Records       int64
	Conversations int64
	Bytes         int64
}

// Append submits b and waits for its Done, which b must not have. Only tests wait so: the hub is told by Done.
func Append(ctx context.Context, j Journal, b Batch) (Head, error) {
	type result struct {
		head Head
		err  error
	}
	c := make(chan result, 1) // Done never blocks, even when ctx ended first
	b.Done = func(h Head, err error) { c <- result{h, err} }
	j.Submit(b)
	select {
	case r := <-c:
		return r.head, r.err
	case <-ctx.Done():
		return Head{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}
