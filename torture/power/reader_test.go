package power

import (
	"fmt"
	"math/rand/v2"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/torture/ledger"
)

const (
	// readPage is how many events a reader takes at once, at most, and readWait how long it waits for one, in ms.
	readPage = 64
	readWait = 300
)

// reader reads the conversations of a group.
type reader struct {
	world  *world
	id     string
	group  int
	season int
	n      int
	cursor int64
	seen   ledger.Seen
}

func newReader(w *world, group int) *reader {
	return &reader{world: w, id: fmt.Sprintf("r%d", group), group: group, seen: ledger.Seen{}}
}

func (r *reader) name() string { return r.id }

func (r *reader) step(c *caller) (done bool, err error) {
	m, _ := r.world.look()
	if m.over {
		return true, nil
	}
	if r.season != m.season {
		r.season, r.n, r.cursor = m.season, 0, 0
	}
	id := conversationID(r.season, r.group, r.n)
	if _, err := r.world.wait(c, r.id, id, r.cursor); err != nil {
		return false, away(err)
	}
	latest, err := r.tail(c, id)
	if err != nil {
		return false, away(err)
	}
	over, err := r.stands(c, id)
	if over && latest == r.cursor && r.n+1 < conversationsOf(r.group) {
		r.n, r.cursor = r.n+1, 0
	}
	return false, away(err)
}

// wait waits until a conversation has more than since events, for a while, and gives how many it has.
func (w *world) wait(c *caller, by, id string, since int64) (int64, error) {
	var r parley.WaitForChangeResult
	call := w.recorder.Begin(history.Op{Conversation: id, Client: by, Kind: history.Latest})
	err := c.Call(parley.MethodWaitForChange, parley.WaitForChangeParams{ConversationID: id, SinceSeq: since, TimeoutMs: readWait}, &r)
	if err == nil {
		call.Done(r.LatestSeq)
		w.reads.Add(1)
	}
	return r.LatestSeq, err
}

// tail reads on, or, now and then, once more from an earlier place.
func (r *reader) tail(c *caller, id string) (latest int64, err error) {
	since := r.cursor
	if rand.IntN(8) == 0 {
		since = rand.Int64N(r.cursor + 1)
	}
	var page parley.TailResult
	call := r.world.recorder.Begin(history.Op{Conversation: id, Client: r.id, Kind: history.Tail, Since: since})
	err = c.Call(parley.MethodTail, parley.TailParams{ConversationID: id, SinceSeq: since, Limit: readPage}, &page)
	if err != nil {
		return 0, err
	}
	r.world.reads.Add(1)
	var entries []history.Entry
	for i := range page.Events {
		e := &page.Events[i]
		if e.Seq != since+int64(i)+1 {
			return 0, fmt.Errorf("%s: seq %d stands %d places after %d", id, e.Seq, i+1, since)
		}
		if err := r.seen.Take(id, e); err != nil {
			return 0, err
		}
		entries = append(entries, ledger.EntryOf(e))
	}
	if full := min(readPage, int(page.LatestSeq-since)); len(entries) != full {
		return 0, fmt.Errorf("%s: %d events after %d, expected %d, since the last seq is %d", id, len(entries), since, full, page.LatestSeq)
	}
	call.Saw(page.LatestSeq, entries)
	r.cursor = max(r.cursor, since+int64(len(entries)))
	return page.LatestSeq, nil
}

// stands asks for the snapshot.
func (r *reader) stands(c *caller, id string) (over bool, err error) {
	var snap parley.Snapshot
	call := r.world.recorder.Begin(history.Op{Conversation: id, Client: r.id, Kind: history.Latest})
	err = c.Call(parley.MethodGetConversation, parley.GetConversationParams{ConversationID: id, SinceSeq: r.cursor, Limit: 1}, &snap)
	if err != nil {
		return false, err
	}
	over = snap.Status == parley.StatusClosed
	call.SawStatus(snap.LatestSeq, over)
	r.world.reads.Add(1)
	return over, nil
}
