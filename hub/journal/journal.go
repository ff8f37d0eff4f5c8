// Package journal defines the contract of a log for hubs.
//
// # Guarantees of every journal
//
//   - Conditional: a batch names the seq that it expects to follow. If the head of the conversation
//     is another one, nothing of the batch is written and Done gets a *MovedError. Two batches
//     never follow the same seq.
//   - Durable: when Done is called without an error, the batch survives kill -9 and power loss.
//   - Honest: an error other than ErrOutcomeUnknown means that nothing of the batch is or will be
//     in the log.
//   - Ordered: the seqs of a conversation are 1, 2, 3, ... without a gap. Batches of one
//     conversation are decided in the order of their submission, and their Done are called in that
//     order.
//   - Chained: every record has SHA-256(hash of the record before || data). The hash before the
//     first record is SHA-256 of the conversation's id (Genesis). A record that fails its checksum
//     or its chain is reported in a *DamageError and never served as intact.
//   - Final: after a batch with Final the conversation accepts no more batches.
//
// Read, Scan, Last, Head, Open, Labeled and LabeledBefore return committed records. They never show
// a batch before it is durable.
package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
)

// The errors of every journal.
var (
	// ErrStorageFull means that there is no room. Nothing was written. Reads work, and writes work
	// again when there is room.
	ErrStorageFull = errors.New("journal: storage full")
	// ErrOutcomeUnknown means that the commit failed and the batch may be in the log. The journal
	// accepts no more writes until it is opened again.
	ErrOutcomeUnknown = errors.New("journal: outcome of the commit unknown")
	// ErrClosed means that the journal was closed. Nothing was written.
	ErrClosed = errors.New("journal: closed")
	// ErrOverloaded means that too many batches wait for their commit. Nothing was written; try
	// again.
	ErrOverloaded = errors.New("journal: overloaded")
	// ErrUnavailable means that the storage cannot be reached. Nothing was written; try again.
	ErrUnavailable = errors.New("journal: unavailable")
	// ErrInvalid means that the batch exceeds the bounds of Batch. Nothing was written.
	ErrInvalid = errors.New("journal: invalid batch")
	// ErrFinal means that the conversation is closed. Nothing was written.
	ErrFinal = errors.New("journal: conversation is final")
	// ErrInUse means that another process has the journal open.
	ErrInUse = errors.New("journal: in use by another process")
	// ErrFormat means that the data has an unknown version of the format.
	ErrFormat = errors.New("journal: unknown format version")
	// ErrNoBlob means that there is no blob with the hash.
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

// Head is the end of a conversation. The zero Head means that it has no record.
type Head struct {
	Seq   int64
	Hash  Hash
	Final bool
}

// Position is the index of a record in commit order: 1, 2, 3, ... over all conversations. 0 is
// before the first.
type Position uint64

// Record is one record of the log.
type Record struct {
	Position     Position
	Conversation string
	Seq          int64
	Hash         Hash
	// Final is set on the last record of a closed conversation.
	Final bool
	// Labels are those of the batch. Its first record has them.
	Labels []string
	// Data is the event as stored. The receiver may change it.
	Data []byte
}

// Bounds of a batch, in bytes. A batch that exceeds them gets ErrInvalid.
const (
	// MaxNameBytes bounds the id of a conversation and a label. Both have at least one byte.
	MaxNameBytes = 255
	MaxLabels    = 255
	// MaxBatchBytes bounds the total size of the events of a batch.
	MaxBatchBytes = 32 << 20
)

// Batch is some events of one conversation that are appended together or not at all.
type Batch struct {
	Conversation string
	// After is the seq that the batch expects to follow; 0 means that the conversation has no record.
	After int64
	// On, if not nil, is the hash that the head must have too. It is set for a batch that follows
	// an undecided one if others append to the same conversation: the seqs may match when the
	// events do not.
	On *Hash
	// Events are the encoded events. The journal may keep the slices until Done, and they must not
	// be changed. A batch without events is a check. It writes nothing, and its Done reports
	// whether After and On held at a time after Submit. If others append to the same journal, a
	// check shows whether a head is current. Once Done is called, reads show everything that was
	// acknowledged anywhere before Submit, for any conversation.
	Events [][]byte
	// Final is set if the last event closes the conversation.
	Final bool
	// Labels are added to the conversation. A label that it has already is not added again.
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

// MovedError means that the head differed from the one that a batch expected.
type MovedError struct {
	Conversation string
	Expected     int64
	Head         Head
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("journal: head of %s is %d, expected %d", e.Conversation, e.Head.Seq, e.Expected)
}

// DamageError names a damaged place.
type DamageError struct {
	File         string // the base name of the file, if there is one
	Position     Position
	Conversation string // empty if it is unknown
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

// Journal is a log of many conversations. Its methods may be called from any goroutine. After
// Close, those that return an error return ErrClosed.
type Journal interface {
	// Submit queues a batch and returns at once. One committer writes the queue in one commit after
	// another, and no timer waits for more batches. After Close, or after a commit with an unknown
	// outcome, Done gets ErrClosed or ErrOutcomeUnknown. If too many batches wait, Done gets
	// ErrOverloaded.
	Submit(b Batch)

	// Head returns the committed head.
	Head(conversation string) (Head, error)

	// Read returns records after a seq, in order: at most limit of them and, except for the first,
	// at most maxBytes of data. The result is empty at the head. A limit below 1 means 1, here and
	// in all lists.
	Read(conversation string, after int64, limit, maxBytes int) ([]Record, error)

	// Last returns the position of the last committed record, or 0.
	Last() Position

	// Scan returns records of all conversations in commit order.
	Scan(after Position, limit, maxBytes int) ([]Record, error)

	// Watch returns a channel that the next commit after the call, or Close, closes.
	Watch() <-chan struct{}

	// Open returns the conversations that are not final, by id, after an id.
	Open(after string, limit int) ([]string, error)

	// Labeled returns the conversations that have a label, in the order in which they got it, after
	// a position. The empty label lists all conversations, by their first record.
	Labeled(label string, after Position, limit int) ([]Listed, error)

	// LabeledBefore is Labeled in the reverse order, before a position; 0 means the end.
	LabeledBefore(label string, before Position, limit int) ([]Listed, error)

	// SaveState stores derived state of a conversation at a seq, and replaces the previous one. It
	// may be lost. It fails with ErrOverloaded when too many states wait for the disk. LoadState
	// returns it, or nil.
	SaveState(conversation string, seq int64, state []byte) error
	LoadState(conversation string) (seq int64, state []byte, err error)

	// PutBlob stores data durably under its SHA-256. GetBlob checks the hash, and returns ErrNoBlob
	// for a missing blob.
	PutBlob(data []byte) (Hash, error)
	GetBlob(h Hash) ([]byte, error)

	// Verify reads everything. It returns the first damage as a *DamageError, or the counts.
	Verify(ctx context.Context) (Report, error)

	// Size returns the number of bytes on disk.
	Size() int64

	// Close accepts no more batches, commits the submitted ones, and closes the files.
	Close() error
}

// Report is the result of Verify.
type Report struct {
	Records       int64
	Conversations int64
	Bytes         int64
}

// Append submits b, which must have no Done, and waits for its answer. It is for tests.
func Append(ctx context.Context, j Journal, b Batch) (Head, error) {
	type result struct {
		head Head
		err  error
	}
	c := make(chan result, 1) // Done never blocks, even if ctx ended first
	b.Done = func(h Head, err error) { c <- result{h, err} }
	j.Submit(b)
	select {
	case r := <-c:
		return r.head, r.err
	case <-ctx.Done():
		return Head{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}
