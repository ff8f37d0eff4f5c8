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
	// publishWait is the time between two tries of a publish that is refused at once.
	publishWait = 100 * time.Millisecond
	// resendWait is how long an acknowledgement is waited for before the message is published again.
	resendWait = 2 * time.Second
	// closePatience is how long Close waits for the outcome of what it has published.
	closePatience = 5 * time.Second
)

// Submit queues a batch.
func (j *Journal) Submit(b journal.Batch) {
	if !j.queue.Put(b) {
		go submit.Deliver([]submit.Call{{Done: b.Done, Err: journal.ErrClosed}})
	}
}

// commitLoop takes what waits, decides it, has it published and answers it: one message at a time, so that what comes meanwhile is together in the next.
//
//	queue -> plan (on the replica's heads) -> publish until it is acknowledged and has landed -> answer, or plan again what has moved
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

// commit gives the answers to some items; those that are to be decided once more wait.
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

// away says why nothing is published now.
func (j *Journal) away() error {
	if final, now := j.follower.failure(); final != nil || now != nil {
		return cmp.Or(final, now)
	}
	if j.ctx.Err() != nil {
		return fmt.Errorf("%w: the journal is closed, and the NATS servers do not answer", journal.ErrUnavailable)
	}
	return j.health.away()
}

// resolve publishes a round until it is known what has come of it. With an error nothing of it was written, but for journal.ErrOutcomeUnknown.
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

// seal gives a round its number and the data of its message, and keeps its parts elsewhere if they are more than a message can carry.
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

// landing is called by the follower for each message before it is applied; what it gives is called once it is.
func (j *Journal) landing(m *message, head func(string) (journal.Head, error)) func() {
	r := j.current.Load()
	if r == nil || m.writer != j.writer || m.number != r.number || r.over {
		return nil
	}
	r.over = true // what copies come to says nothing
	r.judge(head)
	return func() { close(r.landed) }
}

// publishing is a round on its way. The message may be published many times: on the heads of the first that lands the others come to nothing. The round is over once one
// has landed, which says what has come of it, and one is acknowledged, which says that all up to it is durable.
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
	future, err := p.j.js.PublishMsgAsync(&nats.Msg{Subject: p.j.subject(), Data: p.round.data}, jetstream.WithRetryAttempts(0))
	if err != nil {
		p.again = time.After(publishWait) // it is not sent: there is no connection
		return
	}
	p.copies++
	p.j.counted.sent(p.copies, len(p.round.parts))
	p.ok, p.failed = future.Ok(), future.Err()
}

// wait waits until the round is over, or a copy is to be published again.
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
				p.j.follower.again() // it is in the stream and does not come
			}
			return false, p.overdue()
		}
		if p.acked && p.landed == nil {
			return true, nil
		}
	}
}

// Errors of servers that have no room for a message, and have not taken it.
var fullCodes = []jetstream.ErrorCode{10002, 10023, 10047}

// A stream that has its max_bytes has no error of its own: it says so within that of a message which is not stored.
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

// overdue refuses what waits behind a round that takes too long, but for the conversations that it decides about; and the round itself if nothing of it can be written any more.
func (p *publishing) overdue() error {
	j := p.j
	final, now := j.follower.failure()
	gone := j.ctx.Err() != nil
	if final == nil && now == nil && !gone && time.Since(p.began) < j.opts.Patience {
		return nil
	}
	cause := cmp.Or(final, now)
	if cause == nil {
		cause = fmt.Errorf("%w: the NATS servers have not answered for %s", journal.ErrUnavailable, time.Since(p.began).Round(time.Millisecond))
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

// refuseOthers refuses what waits for the round after this one, but for the conversations that this one decides about: their batches are answered in order.
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
