package cluster

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/torture/ledger"
)

const (
	// readPage is how many events a reader takes at once, at most, and readWait how long it waits for one, in ms.
	readPage = 64
	readWait = 300
)

// reader reads the conversations of a group, at any hub. With each call it shows the last seq that anybody was told of: so what it is told must be no older than what anybody knew
// when it asked.
type reader struct {
	world *world
	id    string
	group int
	n     int
	seen  ledger.Seen
}

func newReader(w *world, group int) *reader {
	return &reader{world: w, id: fmt.Sprintf("r%d", group), group: group, seen: ledger.Seen{}}
}

func (r *reader) name() string { return r.id }

func (r *reader) step(c *caller) (done bool, err error) {
	changed := r.world.wasChanged() // taken before what it tells of is looked at
	if r.world.look() >= over {
		return true, nil
	}
	id := conversationID(r.group, r.n)
	if r.world.knows(id) == 0 {
		<-changed
		return false, nil
	}
	if err := r.world.wait(c, r.id, id); err != nil {
		return false, c.away(err)
	}
	if err := r.tail(c, id); err != nil {
		return false, c.away(err)
	}
	if err := r.catchUp(c, id); err != nil {
		return false, c.away(err)
	}
	closed, latest, err := r.stands(c, id)
	if err == nil && closed && latest == int64(len(r.seen[id])) {
		r.n++
	}
	return false, c.away(err)
}

// wait waits until a conversation has more than anybody knows, for a while.
func (w *world) wait(c *caller, by, id string) error {
	var r parley.WaitForChangeResult
	call := w.recorder.Begin(history.Op{Conversation: id, Client: by, Kind: history.Latest})
	err := c.Call(parley.MethodWaitForChange, parley.WaitForChangeParams{ConversationID: id, SinceSeq: w.knows(id), TimeoutMs: readWait}, &r)
	if err == nil {
		w.tell(id, r.LatestSeq)
		call.Done(r.LatestSeq)
		w.reads.Add(1)
	}
	return err
}

// tail reads what is behind all that anybody knows.
func (r *reader) tail(c *caller, id string) error {
	call := r.world.recorder.Begin(history.Op{Conversation: id, Client: r.id, Kind: history.Tail})
	since := r.world.knows(id) // once the call has begun: it is judged by what was known then
	call.From(since)
	page, err := r.read(c, id, since)
	if err != nil {
		return err
	}
	var entries []history.Entry
	for i := range page.Events {
		entries = append(entries, ledger.EntryOf(&page.Events[i]))
	}
	r.world.tell(id, page.LatestSeq)
	call.Saw(page.LatestSeq, entries)
	return nil
}

// read reads a page, which must be whole.
func (r *reader) read(c *caller, id string, since int64) (*parley.TailResult, error) {
	var page parley.TailResult
	if err := c.Call(parley.MethodTail, parley.TailParams{ConversationID: id, SinceSeq: since, Limit: readPage}, &page); err != nil {
		return nil, err
	}
	r.world.reads.Add(1)
	for i := range page.Events {
		if e := &page.Events[i]; e.Seq != since+int64(i)+1 {
			return nil, fmt.Errorf("%s: seq %d stands %d places after %d", id, e.Seq, i+1, since)
		}
	}
	if full := min(readPage, int(page.LatestSeq-since)); len(page.Events) != full {
		return nil, fmt.Errorf("%s: %d events after %d, expected %d, since the last seq is %d", id, len(page.Events), since, full, page.LatestSeq)
	}
	return &page, nil
}

// catchUp reads on from where the reader itself has come.
func (r *reader) catchUp(c *caller, id string) error {
	page, err := r.read(c, id, int64(len(r.seen[id])))
	if err != nil {
		return err
	}
	for i := range page.Events {
		if err := r.seen.Take(id, &page.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

// stands asks for the snapshot.
func (r *reader) stands(c *caller, id string) (closed bool, latest int64, err error) {
	var snap parley.Snapshot
	call := r.world.recorder.Begin(history.Op{Conversation: id, Client: r.id, Kind: history.Latest})
	err = c.Call(parley.MethodGetConversation, parley.GetConversationParams{ConversationID: id, SinceSeq: r.world.knows(id), Limit: 1}, &snap)
	if err != nil {
		return false, 0, err
	}
	closed = snap.Status == parley.StatusClosed
	r.world.tell(id, snap.LatestSeq)
	call.SawStatus(snap.LatestSeq, closed)
	r.world.reads.Add(1)
	return closed, snap.LatestSeq, nil
}
