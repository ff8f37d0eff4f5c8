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

// Journal is a node's part of a journal that many share. Make one with Open.
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
	planner  submit.Planner // the committer's
	number   uint64         // the committer's: of its last message
	waiting  []submit.Item  // the committer's: decided before on heads that have moved, or too much for a message
	current  atomic.Pointer[round]
	follower *follower
	health   *health
	counted  counters

	ctx       context.Context // ends when nothing is waited for any more
	giveUp    context.CancelFunc
	woken     chan struct{} // something has changed for the round that is on its way
	committer sync.WaitGroup
	others    sync.WaitGroup
	stop      context.CancelFunc // of the others
	closing   sync.Once
	closeErr  error
	closed    atomic.Bool
}

// openPatience is how long Open tries to reach servers that do not answer.
const openPatience = 10 * time.Second

// Open connects to the servers that a URL names, several with commas between, finds the stream there or makes it, and opens the replica in a directory. It returns when the
// replica has what the stream had when Open was called.
//
// It fails with journal.ErrUnavailable if the servers do not answer for 10 s, or until ctx ends, ErrRefused if one side does not take the other, ErrNotDurable if they may lose what they acknowledge, ErrConfig if the stream is another kind of
// stream, journal.ErrFormat if it, or the replica, is of another version, ErrOtherStream if the replica belongs to another one, and journal.ErrInUse if the directory is open
// already.
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

// persist calls f until it does not fail any more because servers do not answer, for openPatience at most: they may have been started a moment ago.
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

// reach waits until the replica has the stream up to a place.
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

// wake has the committer look at its round again.
func (j *Journal) wake() {
	select {
	case j.woken <- struct{}{}:
	default:
	}
}

// Rebuilt says why Open has made the replica from nothing; nil if it has not.
func (j *Journal) Rebuilt() error { return j.replica.rebuilt }

// Head gives the head as far as this node knows.
func (j *Journal) Head(conversation string) (journal.Head, error) {
	v, err := j.replica.records.Head(conversation)
	return v, j.replica.seen(err)
}

// Read gives records of a conversation after a seq, as far as this node knows.
func (j *Journal) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	v, err := j.replica.records.Read(conversation, after, limit, maxBytes)
	return v, j.replica.seen(err)
}

// Last gives the position of the last record that this node knows.
func (j *Journal) Last() journal.Position { return j.replica.records.Last() }

// Scan gives records in commit order, which is the same on every node.
func (j *Journal) Scan(after journal.Position, limit, maxBytes int) ([]journal.Record, error) {
	v, err := j.replica.records.Scan(after, limit, maxBytes)
	return v, j.replica.seen(err)
}

// Watch gives a channel that is closed when this node knows more, or by Close.
func (j *Journal) Watch() <-chan struct{} { return j.replica.records.Watch() }

// Open gives the conversations that are not final.
func (j *Journal) Open(after string, limit int) ([]string, error) {
	v, err := j.replica.records.Open(after, limit)
	return v, j.replica.seen(err)
}

// Labeled gives the conversations that have a label.
func (j *Journal) Labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	v, err := j.replica.records.Labeled(label, after, limit)
	return v, j.replica.seen(err)
}

// LabeledBefore gives the conversations that have a label, the last first.
func (j *Journal) LabeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	v, err := j.replica.records.LabeledBefore(label, before, limit)
	return v, j.replica.seen(err)
}

// SaveState keeps derived state on this node.
func (j *Journal) SaveState(conversation string, seq int64, state []byte) error {
	return j.replica.records.SaveState(conversation, seq, state)
}

// LoadState gives back what SaveState kept on this node.
func (j *Journal) LoadState(conversation string) (int64, []byte, error) {
	seq, state, err := j.replica.records.LoadState(conversation)
	return seq, state, j.replica.seen(err)
}

// PutBlob keeps data under its hash, for all nodes.
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

// GetBlob gives the data of a hash, whichever node has put it.
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

// Size is the bytes of the replica's files, and of the blobs on the servers as far as this node knows.
func (j *Journal) Size() int64 { return j.replica.records.Size() + j.health.blobs.Load() }

// Close takes no more batches and has those that were submitted written. If the servers do not answer meanwhile, it gives up after 5 s: what was published then gets
// journal.ErrOutcomeUnknown, what was not gets journal.ErrUnavailable.
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

// release gives back what Open has taken.
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
