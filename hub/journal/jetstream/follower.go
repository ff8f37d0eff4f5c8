package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
)

const (
	// pullBytes bounds the bytes that a server sends ahead.
	pullBytes     = 8 << 20
	pullExpiry    = 10 * time.Second
	pullHeartbeat = time.Second
	// applyMessages and applyBytes bound one transaction, unless one message is larger.
	applyMessages = 64
	applyBytes    = 8 << 20
	retryWait     = 250 * time.Millisecond
	// noteEvery is how often the applied position is saved.
	noteEvery = 2 * time.Second
	// maxGaps is how often a message may be skipped before it counts as lost.
	maxGaps = 5
)

// errGap means that the stream skipped the next message.
var errGap = errors.New("the stream has left out a message")

// follower applies the messages of the stream to the replica, in order. The result of a message
// depends only on the messages before it, so it is the same on every node. A message that is
// applied twice changes nothing the second time, because its heads have moved.
//
//	ordered consumer -> inbox -> take -> decide (on heads) -> bolt.Journal.Apply -> landed
type follower struct {
	j     *Journal
	inbox chan jetstream.Msg
	reset chan struct{}           // the consumer must be created again
	heads map[string]journal.Head // of what is decided and not applied yet
	gaps  int                     // how often the next message was skipped

	mu      sync.Mutex    // guards the fields below
	applied uint64        // of the stream
	moved   chan struct{} // closed when applied grows
	err     error         // final
	stuck   error         // the replica temporarily accepts nothing
	paused  chan struct{} // tests: closed to continue; nil while the follower runs
}

func newFollower(j *Journal) *follower {
	return &follower{j: j, inbox: make(chan jetstream.Msg, applyMessages), reset: make(chan struct{}, 1),
		heads: make(map[string]journal.Head), moved: make(chan struct{})}
}

// again makes the follower create its consumer again.
func (f *follower) again() {
	select {
	case f.reset <- struct{}{}:
	default:
	}
}

// position returns the applied position, and a channel that is closed when it grows.
func (f *follower) position() (uint64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applied, f.moved
}

// failure returns why nothing is applied: finally, or temporarily.
func (f *follower) failure() (final, now error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err, f.stuck
}

// run follows the stream until ctx ends, or until a message that not every node can read.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.consume(ctx)
		if final := (*finalError)(nil); errors.As(err, &final) {
			f.end(final.error)
			return
		}
		if err != nil && ctx.Err() == nil {
			f.j.opts.Logger.Debug("journal: the stream is asked for again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryWait):
		}
	}
}

// finalError ends a follower.
type finalError struct{ error }

func (f *follower) end(err error) {
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	f.j.opts.Logger.Error("journal: the stream is not followed any more", "error", err)
	f.j.wake()
}

// consume follows the stream with one consumer.
func (f *follower) consume(ctx context.Context) error {
	applied, _ := f.position()
	c, err := f.j.stream.OrderedConsumer(ctx,
		jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: applied + 1})
	if err != nil {
		return err
	}
	for len(f.inbox) > 0 {
		<-f.inbox // of the previous consumer
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cc, err := c.Consume(func(m jetstream.Msg) {
		select {
		case f.inbox <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxBytes(pullBytes), jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		cc.Stop()
		<-cc.Closed()
	}()
	return f.follow(ctx)
}

func (f *follower) follow(ctx context.Context) error {
	note := time.NewTicker(noteEvery)
	defer note.Stop()
	noted := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.reset:
			return nil
		case <-note.C:
			if applied, _ := f.position(); applied != noted {
				noted = applied
				f.j.replica.note(applied, false) // a failure only makes the next start slower
			}
		case m := <-f.inbox:
			if err := f.hold(ctx); err != nil {
				return err
			}
			if err := f.take(ctx, m); err != nil {
				return err
			}
		}
	}
}

// hold waits while a test pauses the follower.
func (f *follower) hold(ctx context.Context) error {
	f.mu.Lock()
	paused := f.paused
	f.mu.Unlock()
	if paused == nil {
		return nil
	}
	select {
	case <-paused:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// group is the content of one transaction.
type group struct {
	last    uint64 // of the stream
	batches []journal.Batch
	landed  []func() // called once it is applied
	bytes   int
}

// take applies a message and those that have arrived behind it.
func (f *follower) take(ctx context.Context, m jetstream.Msg) error {
	g := &group{}
	g.last, _ = f.position()
	clear(f.heads)
	for n := 1; ; n++ {
		if err := f.decide(ctx, g, m); err != nil {
			if applied := f.apply(ctx, g); applied != nil {
				return applied
			}
			return err
		}
		if n == applyMessages || g.bytes >= applyBytes || len(f.inbox) == 0 {
			return f.apply(ctx, g)
		}
		m = <-f.inbox // only this goroutine takes from it
	}
}

// decide adds the result of a message to a group.
func (f *follower) decide(ctx context.Context, g *group, raw jetstream.Msg) error {
	meta, err := raw.Metadata()
	if err != nil {
		return err
	}
	at := meta.Sequence.Stream
	switch {
	case at <= g.last:
		return nil // again
	case at > g.last+1:
		if f.gaps++; f.gaps > maxGaps {
			return &finalError{&journal.DamageError{File: "stream " + f.j.opts.Name,
				What: fmt.Sprintf("message %d is missing", g.last+1)}}
		}
		return fmt.Errorf("%w: after %d came %d", errGap, g.last, at)
	}
	f.gaps = 0
	m, err := f.read(ctx, raw.Data())
	if err != nil {
		return f.refuse(at, err)
	}
	landed := f.j.landing(&m, f.head)
	if err := f.parts(g, m.parts); err != nil {
		return f.refuse(at, err)
	}
	if landed != nil {
		g.landed = append(g.landed, landed)
	}
	g.last, g.bytes = at, g.bytes+len(raw.Data())
	return nil
}

// refuse makes the error of a message final, unless it comes from the servers.
func (f *follower) refuse(at uint64, err error) error {
	damage := (*journal.DamageError)(nil)
	switch {
	case errors.Is(err, journal.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, journal.ErrClosed):
		return err
	case errors.Is(err, journal.ErrFormat):
		return &finalError{fmt.Errorf("message %d of the stream %s: %w", at, f.j.opts.Name, err)}
	case errors.As(err, &damage):
		if damage.Conversation != "" {
			// this node's records differ from those of the writer: the next start restores them from the stream
			err = f.j.replica.seen(err)
		}
		return &finalError{fmt.Errorf("message %d of the stream %s: %w", at, f.j.opts.Name, err)}
	}
	return &finalError{&journal.DamageError{File: "stream " + f.j.opts.Name, What: fmt.Sprintf("message %d: %v", at, err)}}
}

// read decodes a message, and fetches its parts if they are a blob.
func (f *follower) read(ctx context.Context, data []byte) (message, error) {
	m, err := decodeMessage(data)
	if err != nil || m.blob == nil {
		return m, err
	}
	b, err := f.j.blobs.get(ctx, *m.blob)
	if errors.Is(err, journal.ErrNoBlob) {
		return m, fmt.Errorf("%w: the parts %x are not there", journal.ErrUnavailable, m.blob[:])
	}
	if err != nil {
		return m, err
	}
	m.parts, err = decodeParts(b)
	return m, err
}

// head returns the head of a conversation after everything that is decided.
func (f *follower) head(conversation string) (journal.Head, error) {
	if h, ok := f.heads[conversation]; ok {
		return h, nil
	}
	return f.j.Head(conversation)
}

// parts adds the parts of the conversations whose heads match.
func (f *follower) parts(g *group, parts []part) error {
	taken := make(map[string]bool)
	for i := range parts {
		p := &parts[i]
		head, err := f.head(p.conversation)
		if err != nil {
			return err
		}
		if p.first {
			if taken[p.conversation], err = rests(p, head); err != nil {
				return err
			}
		}
		if taken[p.conversation] {
			g.batches = append(g.batches, journal.Batch{Conversation: p.conversation, After: head.Seq, Events: p.events,
				Final: p.final, Labels: p.labels})
			f.heads[p.conversation] = extend(head, p)
		}
	}
	return nil
}

// rests reports whether a part is based on a head. A part with the right seq and another hash was
// written by a node whose replica has other records.
func rests(p *part, head journal.Head) (bool, error) {
	if head.Final || head.Seq != p.on.Seq {
		return false, nil
	}
	if head.Hash != p.on.Hash {
		return false, &journal.DamageError{Conversation: p.conversation, Seq: head.Seq,
			What: "a node has another hash of this record"}
	}
	return true, nil
}

// extend returns the head after a part.
func extend(head journal.Head, p *part) journal.Head {
	if head.Seq == 0 {
		head.Hash = journal.Genesis(p.conversation)
	}
	for _, e := range p.events {
		head.Seq++
		head.Hash = head.Hash.Next(e)
	}
	head.Final = p.final
	return head
}

// apply writes a group to the replica. It waits while the replica has no room.
func (f *follower) apply(ctx context.Context, g *group) error {
	for len(g.batches) > 0 {
		err := f.j.replica.records.Apply(g.batches)
		f.mu.Lock()
		f.stuck = err
		f.mu.Unlock()
		if err == nil {
			break
		}
		if !errors.Is(err, journal.ErrStorageFull) {
			return &finalError{fmt.Errorf("replica: %w", f.j.replica.seen(err))}
		}
		f.j.wake()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryWait):
		}
	}
	f.mu.Lock()
	f.applied = max(f.applied, g.last)
	close(f.moved)
	f.moved = make(chan struct{})
	f.mu.Unlock()
	for _, landed := range g.landed {
		landed()
	}
	return nil
}
