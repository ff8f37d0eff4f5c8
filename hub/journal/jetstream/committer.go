package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
)

const (
	// publishWait is the pause before a publish that was refused at once is tried again.
	publishWait = 100 * time.Millisecond
	// resendWait is how long the committer waits for an acknowledgement before it publishes the
	// message again.
	resendWait = 2 * time.Second
	// closePatience is how long Close waits for the outcome of published messages.
	closePatience = 5 * time.Second
)

// Submit queues a batch.
func (j *Journal) Submit(b journal.Batch) {
	if !j.queue.Put(b) {
		go submit.Deliver([]submit.Call{{Done: b.Done, Err: journal.ErrClosed}})
	}
}

// commitLoop takes the waiting batches, decides them, publishes a message and answers them. One
// message is under way at a time, so the batches that come meanwhile share the next one.
//
//	queue -> plan (on the replica's heads) -> publish until acknowledged and landed -> answer, or plan again what moved
func (j *Journal) commitLoop() {
	for {
		var items []submit.Item
		if len(j.waiting) == 0 {
			items = slices.Clone(j.queue.Take(j.maxParts)) // some may wait for longer than until the next Take
		} else {
			items = append(j.waiting, j.queue.TakeNow(j.maxParts)...)
		}
		if len(items) == 0 {
			return
		}
		j.waiting = nil
		submit.Deliver(j.commit(items))
	}
}

// commit returns the answers to some items. Those that have to be decided again wait.
func (j *Journal) commit(items []submit.Item) []submit.Call {
	if err := j.away(); err != nil {
		return submit.Refuse(items, err)
	}
	r, rest := j.plan(items, j.maxParts)
	j.waiting = rest
	if r.settled() {
		return r.calls
	}
	if err := j.resolve(r); err != nil {
		return submit.Refuse(r.items, err)
	}
	calls, again := r.divide()
	j.counted.redone.Add(int64(len(again)))
	j.waiting = append(again, j.waiting...)
	return calls
}

// away returns why nothing is published now, or nil.
func (j *Journal) away() error {
	if final, now := j.follower.failure(); final != nil || now != nil {
		return cmp.Or(final, now)
	}
	if j.ctx.Err() != nil {
		return fmt.Errorf("%w: the journal is closed, and the NATS servers do not answer", journal.ErrUnavailable)
	}
	return j.health.away()
}

// resolve publishes a round until its outcome is known. After an error, except
// journal.ErrOutcomeUnknown, nothing of it was written.
func (j *Journal) resolve(r *round) error {
	if err := j.seal(r); err != nil {
		return err
	}
	defer j.current.Store(nil)
	p := publishing{j: j, round: r, began: time.Now(), landed: r.landed}
	for {
		p.publish()
		if done, err := p.wait(); done || err != nil {
			return err
		}
	}
}

// seal sets the number and the data of the message of a round. Parts that exceed a message are
// stored as a blob.
func (j *Journal) seal(r *round) error {
	j.number++
	r.number = j.number
	m := message{writer: j.writer, number: r.number}
	parts := encodeParts(r.parts)
	if len(parts) > j.maxParts {
		ctx, cancel := context.WithTimeout(j.ctx, j.blobs.patience(len(parts)))
		defer cancel()
		h, err := j.blobs.put(ctx, parts)
		if err != nil {
			return err
		}
		m.blob = &h
	}
	r.data = encodeMessage(&m, parts)
	j.current.Store(r)
	return nil
}

// landing is called by the follower before it applies a message. The returned function is called
// after that.
func (j *Journal) landing(m *message, head func(string) (journal.Head, error)) func() {
	r := j.current.Load()
	if r == nil || m.writer != j.writer || m.number != r.number || r.over {
		return nil
	}
	r.over = true // later copies do not change the outcome
	r.judge(head)
	return func() { close(r.landed) }
}

// publishing is a round that is being published. The message may be published many times, because
// after the first copy landed the heads of the others have moved. The round is over once one copy
// landed, which determines the outcome, and one is acknowledged, which means that everything up to
// it is durable.
type publishing struct {
	j      *Journal
	round  *round
	began  time.Time
	copies int             // that may land
	acked  bool            // one of them is durable
	landed <-chan struct{} // nil once one has landed

	ok     <-chan *jetstream.PubAck
	failed <-chan error
	again  <-chan time.Time
}

// publish publishes a copy, unless one is acknowledged.
func (p *publishing) publish() {
	p.ok, p.failed, p.again = nil, nil, time.After(min(p.j.opts.Patience, resendWait))
	if p.acked {
		return
	}
	future, err := p.j.js.PublishMsgAsync(&nats.Msg{Subject: p.j.subject(), Data: p.round.data},
		jetstream.WithRetryAttempts(0))
	if err != nil {
		p.again = time.After(publishWait) // it was not sent: there is no connection
		return
	}
	p.copies++
	p.j.counted.sent(p.copies, len(p.round.parts))
	p.ok, p.failed = future.Ok(), future.Err()
}

// wait waits until the round is over, or until a copy has to be published again.
func (p *publishing) wait() (done bool, err error) {
	for {
		select {
		case <-p.ok:
			p.acked = true
			p.j.health.sign()
		case <-p.landed:
			p.landed = nil
		case err := <-p.failed:
			if full(err) && p.copies == 1 {
				return false, fmt.Errorf("%w: %w", journal.ErrStorageFull, err)
			}
			p.failed, p.again = nil, time.After(publishWait)
		case <-p.j.woken:
			if err := p.overdue(); err != nil {
				return false, err
			}
		case <-p.again:
			if p.acked {
				p.j.follower.again() // the stream has it, and it does not arrive
			}
			return false, p.overdue()
		}
		if p.acked && p.landed == nil {
			return true, nil
		}
	}
}

// The error codes of servers that have no room for a message and did not store it.
var fullCodes = []jetstream.ErrorCode{10002, 10023, 10047}

// A stream that reached its max_bytes has no error code. Its text is within the error of a message
// that is not stored.
const (
	notStoredCode  = 10077
	notStoredBytes = "maximum bytes exceeded"
)

func full(err error) bool {
	api := (*jetstream.APIError)(nil)
	if !errors.As(err, &api) {
		return false
	}
	return slices.Contains(fullCodes, api.ErrorCode) || api.ErrorCode == notStoredCode && api.Description == notStoredBytes
}

// overdue refuses the batches that wait behind a round for too long, except for the conversations
// of the round. It refuses the round too if no copy of it can be written any more.
func (p *publishing) overdue() error {
	j := p.j
	final, now := j.follower.failure()
	gone := j.ctx.Err() != nil
	if final == nil && now == nil && !gone && time.Since(p.began) < j.opts.Patience {
		return nil
	}
	cause := cmp.Or(final, now)
	if cause == nil {
		cause = fmt.Errorf("%w: the NATS servers have not answered for %s", journal.ErrUnavailable,
			time.Since(p.began).Round(time.Millisecond))
	}
	j.refuseOthers(p.round, cause)
	switch {
	case p.copies == 0, len(p.round.parts) == 0:
		return cause
	case final != nil, gone:
		return fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, cause)
	}
	return nil
}

// refuseOthers refuses the batches that wait for the next round, except for the conversations of
// this one, whose batches are answered in order.
func (j *Journal) refuseOthers(r *round, err error) {
	other := func(it *submit.Item) bool { return !r.has(it.Conversation) }
	var kept []submit.Item
	for _, it := range j.waiting {
		if other(&it) {
			submit.Deliver(submit.Refuse([]submit.Item{it}, err))
		} else {
			kept = append(kept, it)
		}
	}
	j.waiting = kept
	submit.Deliver(submit.Refuse(j.queue.Remove(other), err))
}
