package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
)

var _ journal.Journal = (*Journal)(nil)

// Journal is the part of one node in a shared journal; see Open.
type Journal struct {
	opts    Options
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	id      string // of the stream
	blobs   *blobs
	replica *replica

	writer   [16]byte
	maxParts int // bytes of the parts of a message
	queue    *submit.Queue
	planner  submit.Planner // used by the committer only
	number   uint64         // of the last message; used by the committer only
	// decided before on heads that moved, or too large for the last message; used by the committer only
	waiting  []submit.Item
	current  atomic.Pointer[round]
	follower *follower
	health   *health
	counted  counters

	ctx       context.Context // ends when nothing is waited for any more
	giveUp    context.CancelFunc
	woken     chan struct{} // something changed for the round that is under way
	committer sync.WaitGroup
	others    sync.WaitGroup
	stop      context.CancelFunc // of the others
	closing   sync.Once
	closeErr  error
	closed    atomic.Bool
}

// openPatience is how long Open tries to reach servers that do not answer.
const openPatience = 10 * time.Second

// Open connects to the servers of a URL, which may be several separated by commas, finds or creates
// the stream, and opens the replica in a directory. It returns when the replica has everything that
// the stream had at the call.
//
// It fails with journal.ErrUnavailable if the servers do not answer for 10 s or until ctx ends,
// ErrRefused if one side refuses the other, ErrNotDurable if they may lose what they acknowledge,
// ErrConfig if the stream has another configuration, journal.ErrFormat if the stream or the replica
// has another version, ErrOtherStream if the replica belongs to another stream, and
// journal.ErrInUse if the directory is open already.
func Open(ctx context.Context, url, dir string, o *Options) (_ *Journal, err error) {
	j := &Journal{opts: o.withDefaults(), queue: submit.NewQueue(), woken: make(chan struct{}, 1)}
	j.ctx, j.giveUp = context.WithCancel(context.Background())
	rand.Read(j.writer[:])
	j.follower = newFollower(j)
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the journal %s: %w", j.opts.Name, errors.Join(err, j.release()))
		}
	}()
	if err := persist(ctx, func() error { return j.dial(url) }); err != nil {
		return nil, err
	}
	j.maxParts = min(int(j.nc.MaxPayload()), maxMessageBytes) - messageMargin
	var last uint64
	if err := persist(ctx, func() (err error) { last, err = j.openStream(ctx); return err }); err != nil {
		return nil, err
	}
	if err := persist(ctx, func() error { return j.openBlobs(ctx) }); err != nil {
		return nil, err
	}
	if j.replica, err = openReplica(dir, j.id, last); err != nil {
		return nil, err
	}
	if why := j.replica.rebuilt; why != nil {
		j.opts.Logger.Warn("journal: the replica is made again from the stream", "because", why)
	}
	j.follower.applied = j.replica.applied
	j.health = newHealth(j, last)
	var life context.Context
	life, j.stop = context.WithCancel(context.Background())
	j.others.Go(func() { j.follower.run(life) })
	j.others.Go(func() { j.health.run(life) })
	if err := j.reach(ctx, last); err != nil {
		return nil, err
	}
	j.committer.Go(j.commitLoop)
	return j, nil
}

// persist calls f again while servers do not answer, for at most openPatience. They may have just
// been started.
func persist(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	for {
		err := f()
		if !errors.Is(err, journal.ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryWait):
		}
	}
}

// reach waits until the replica has the stream up to a position.
func (j *Journal) reach(ctx context.Context, last uint64) error {
	for {
		applied, moved := j.follower.position()
		if applied >= last {
			return nil
		}
		if final, _ := j.follower.failure(); final != nil {
			return final
		}
		select {
		case <-moved:
		case <-j.woken:
		case <-ctx.Done():
			return fmt.Errorf("%w: the replica has %d of %d messages: %w", journal.ErrUnavailable, applied, last, ctx.Err())
		}
	}
}

// wake makes the committer look at its round again.
func (j *Journal) wake() {
	select {
	case j.woken <- struct{}{}:
	default:
	}
}

// Rebuilt returns why Open restored the replica from the stream, or nil if it did not.
func (j *Journal) Rebuilt() error { return j.replica.rebuilt }

// Head returns the head as far as this node knows.
func (j *Journal) Head(conversation string) (journal.Head, error) {
	v, err := j.replica.records.Head(conversation)
	return v, j.replica.seen(err)
}

// Read returns records of a conversation after a seq, as far as this node knows.
func (j *Journal) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	v, err := j.replica.records.Read(conversation, after, limit, maxBytes)
	return v, j.replica.seen(err)
}

// Last returns the position of the last record that this node knows.
func (j *Journal) Last() journal.Position { return j.replica.records.Last() }

// Scan returns records in commit order, which is the same on every node.
func (j *Journal) Scan(after journal.Position, limit, maxBytes int) ([]journal.Record, error) {
	v, err := j.replica.records.Scan(after, limit, maxBytes)
	return v, j.replica.seen(err)
}

// Watch returns a channel that is closed when this node knows more, or by Close.
func (j *Journal) Watch() <-chan struct{} { return j.replica.records.Watch() }

// Open returns the conversations that are not final.
func (j *Journal) Open(after string, limit int) ([]string, error) {
	v, err := j.replica.records.Open(after, limit)
	return v, j.replica.seen(err)
}

// Labeled returns the conversations that have a label.
func (j *Journal) Labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	v, err := j.replica.records.Labeled(label, after, limit)
	return v, j.replica.seen(err)
}

// LabeledBefore returns the conversations that have a label, the last first.
func (j *Journal) LabeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	v, err := j.replica.records.LabeledBefore(label, before, limit)
	return v, j.replica.seen(err)
}

// SaveState stores derived state on this node.
func (j *Journal) SaveState(conversation string, seq int64, state []byte) error {
	return j.replica.records.SaveState(conversation, seq, state)
}

// LoadState returns the state that SaveState stored on this node.
func (j *Journal) LoadState(conversation string) (int64, []byte, error) {
	seq, state, err := j.replica.records.LoadState(conversation)
	return seq, state, j.replica.seen(err)
}

// PutBlob stores data under its hash, for all nodes.
func (j *Journal) PutBlob(data []byte) (journal.Hash, error) {
	if j.closed.Load() {
		return journal.Hash{}, journal.ErrClosed
	}
	ctx, cancel := context.WithTimeout(j.ctx, j.blobs.patience(len(data)))
	defer cancel()
	h, err := j.blobs.put(ctx, data)
	if err != nil {
		return journal.Hash{}, err
	}
	j.health.blobs.Add(int64(len(data)))
	return h, nil
}

// GetBlob returns the data of a hash, from any node.
func (j *Journal) GetBlob(h journal.Hash) ([]byte, error) {
	if j.closed.Load() {
		return nil, journal.ErrClosed
	}
	ctx, cancel := context.WithTimeout(j.ctx, blobPatience)
	defer cancel()
	return j.blobs.get(ctx, h)
}

// Verify reads every record of the replica.
func (j *Journal) Verify(ctx context.Context) (journal.Report, error) {
	v, err := j.replica.records.Verify(ctx)
	return v, j.replica.seen(err)
}

// Size returns the number of bytes of the replica's files, and of the blobs on the servers as far
// as this node knows.
func (j *Journal) Size() int64 { return j.replica.records.Size() + j.health.blobs.Load() }

// Close accepts no more batches, and writes those that were submitted. If the servers do not answer
// for 5 s, published batches get journal.ErrOutcomeUnknown and others journal.ErrUnavailable.
func (j *Journal) Close() error {
	j.closing.Do(func() {
		j.closed.Store(true)
		timer := time.AfterFunc(closePatience, func() { j.giveUp(); j.wake() })
		j.queue.Close()
		j.committer.Wait()
		timer.Stop()
		j.closeErr = j.release()
	})
	return j.closeErr
}

// release closes what Open opened.
func (j *Journal) release() error {
	j.giveUp()
	if j.stop != nil {
		j.stop()
	}
	j.others.Wait()
	if j.nc != nil {
		j.nc.Close()
	}
	if j.replica == nil {
		return nil
	}
	applied, _ := j.follower.position()
	return j.replica.close(applied)
}
