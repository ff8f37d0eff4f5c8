package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/torture/ledger"
)

const (
	// readPage is the largest number of events in one read, and readWait the longest wait for a new
	// one, in ms.
	readPage = 64
	readWait = 300
)

// reader reads the conversations of a group.
type reader struct {
	world *World
	id    string
	group int
	n     int
	seen  ledger.Seen
}

func (r *reader) Name() string { return r.id }

func (r *reader) Step(c *Caller) (done bool, err error) {
	changed := r.world.Changed()
	if r.world.Stage() >= Over {
		return true, nil
	}
	id := ConversationID(r.group, r.n)
	if r.world.Known(id) == 0 {
		<-changed
		return false, nil
	}
	if err := r.world.Wait(c, r.id, id, r.named(id)); err != nil {
		return false, c.Away(err)
	}
	latest, err := r.tail(c, id)
	if err == nil && r.next(id) <= latest {
		_, err = r.read(c, id, r.next(id)-1)
	}
	if err != nil {
		return false, c.Away(err)
	}
	closed, latest, err := r.status(c, id)
	if err == nil && closed && latest < r.next(id) {
		r.n++
	}
	return false, c.Away(err)
}

// next is the seq after the events that the reader saw.
func (r *reader) next(id string) int64 { return int64(len(r.seen[id])) + 1 }

// named is the seq that a read names. The answer must not be older: see Config.OneHub.
func (r *reader) named(id string) int64 {
	if r.world.OneHub {
		return r.next(id) - 1
	}
	return r.world.Known(id)
}

// Wait waits for an event after since, for a short time.
func (w *World) Wait(c *Caller, by, id string, since int64) error {
	var r parley.WaitForChangeResult
	p := parley.WaitForChangeParams{ConversationID: id, SinceSeq: since, TimeoutMs: readWait}
	call := w.recorder.Begin(history.Op{Conversation: id, Client: by, Kind: history.Latest})
	err := c.Call(methods.WaitForChange, p, &r)
	if err == nil {
		w.Note(id, r.LatestSeq)
		call.Done(r.LatestSeq)
		w.reads.Add(1)
	}
	return err
}

// tail reads the events after the seq that it names. One hub is sometimes asked for earlier events.
func (r *reader) tail(c *Caller, id string) (latest int64, err error) {
	call := r.world.recorder.Begin(history.Op{Conversation: id, Client: r.id, Kind: history.Tail})
	since := r.named(id) // after the begin, because the checker compares the answer with what was known then
	if r.world.OneHub && rand.IntN(8) == 0 {
		since = rand.Int64N(since + 1)
	}
	call.From(since)
	page, err := r.read(c, id, since)
	if err != nil {
		return 0, err
	}
	var entries []history.Entry
	for i := range page.Events {
		entries = append(entries, ledger.EntryOf(&page.Events[i]))
	}
	r.world.Note(id, page.LatestSeq)
	call.Saw(page.LatestSeq, entries)
	return page.LatestSeq, nil
}

// read reads a page, which must be complete, and compares it with earlier reads.
func (r *reader) read(c *Caller, id string, since int64) (*parley.TailResult, error) {
	var page parley.TailResult
	p := parley.TailParams{ConversationID: id, SinceSeq: since, Limit: readPage}
	if err := c.Call(methods.Tail, p, &page); err != nil {
		return nil, err
	}
	r.world.reads.Add(1)
	for i := range page.Events {
		e := &page.Events[i]
		if e.Seq != since+int64(i)+1 {
			return nil, fmt.Errorf("%s: seq %d is event %d after seq %d", id, e.Seq, i+1, since)
		}
		if since >= r.next(id) {
			continue // after a gap, which the next read closes
		}
		if err := r.seen.Take(id, e); err != nil {
			return nil, err
		}
	}
	if full := min(readPage, int(page.LatestSeq-since)); len(page.Events) != full {
		return nil, fmt.Errorf("%s: %d events after seq %d, expected %d, because the last seq is %d",
			id, len(page.Events), since, full, page.LatestSeq)
	}
	return &page, nil
}

// status asks for the snapshot.
func (r *reader) status(c *Caller, id string) (closed bool, latest int64, err error) {
	var snap parley.Snapshot
	call := r.world.recorder.Begin(history.Op{Conversation: id, Client: r.id, Kind: history.Latest})
	p := parley.GetConversationParams{ConversationID: id, SinceSeq: r.named(id), Limit: 1}
	if err := c.Call(methods.GetConversation, p, &snap); err != nil {
		return false, 0, err
	}
	closed = snap.Status == parley.StatusClosed
	r.world.Note(id, snap.LatestSeq)
	call.SawStatus(snap.LatestSeq, closed)
	r.world.reads.Add(1)
	return closed, snap.LatestSeq, nil
}

// ReadLog reads a whole conversation that has at least known events. It returns the events and the
// hash of the last one.
func ReadLog(c *Caller, id string, known int64) (log []parley.Event, head string, err error) {
	var snap parley.Snapshot
	p := parley.GetConversationParams{ConversationID: id, SinceSeq: known}
	if err := c.Call(methods.GetConversation, p, &snap); err != nil {
		return nil, "", err
	}
	for int64(len(log)) < snap.LatestSeq {
		var page parley.TailResult
		p := parley.TailParams{ConversationID: id, SinceSeq: int64(len(log)), Limit: parley.MaxPage}
		if err := c.Call(methods.Tail, p, &page); err != nil {
			return nil, "", err
		}
		if len(page.Events) == 0 {
			return nil, "", fmt.Errorf("%s has only %d events of %d", id, len(log), snap.LatestSeq)
		}
		log = append(log, page.Events...)
	}
	return log, snap.HeadHash, nil
}
