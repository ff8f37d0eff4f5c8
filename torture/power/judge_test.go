package power

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/history"
	"github.com/parleyhub/parley/torture/promise"
)

// judgeTime bounds the judgement of all histories.
const judgeTime = 5 * time.Minute

// shown is how many violations of a promise are told.
const shown = 5

// judge holds what was told against the log.
type judge struct {
	t      *testing.T
	logs   map[string][]parley.Event
	place  map[string]map[history.Entry]int64 // seq of each message, by conversation
	broken map[promise.ID][]string

	acked, lost, never, files, last, ops int // what was held against the log
}

// broke notes a violation.
func (j *judge) broke(id promise.ID, format string, args ...any) {
	j.broken[id] = append(j.broken[id], fmt.Sprintf(format, args...))
}

// kept says how hard each promise was tried, and what broke it.
func (j *judge) kept(id promise.ID, tried promise.Tried) {
	j.t.Helper()
	all := j.broken[id]
	for _, b := range all[:min(shown, len(all))] {
		j.t.Errorf("%s: %s", id, b)
	}
	tried.Violations = len(all)
	id.Kept(j.t, tried)
}

// judge reads every conversation and holds all that the users know against it.
func (w *world) judge() *judge {
	w.t.Helper()
	j := &judge{t: w.t, logs: map[string][]parley.Event{}, place: map[string]map[history.Entry]int64{}, broken: map[promise.ID][]string{}}
	c := w.audit()
	defer c.Close()
	for _, id := range w.ids {
		j.read(c, id)
	}
	w.hold(j)
	for _, u := range w.bringer {
		j.holdFiles(c, u)
	}
	return j
}

// hold holds what writers, closers and readers know against the logs.
func (w *world) hold(j *judge) {
	for id, log := range j.logs {
		j.index(id, log)
		j.end(id, log)
	}
	known := map[string]map[history.Entry]bool{}
	for _, a := range w.writers {
		j.holdSaid(a.id, a.said, known)
	}
	for _, a := range w.closers {
		j.holdSaid(a.id, a.said, known)
	}
	for id, place := range j.place {
		for e, seq := range place {
			if !known[id][e] {
				j.broke(4, "%s: seq %d is %v, which nobody has said", id, seq, e)
			}
		}
	}
	for _, r := range w.readers {
		j.holdSeen(r)
	}
	j.holdHistory(w.recorder.Ops())
}

// read reads a whole log.
func (j *judge) read(c *caller, id string) {
	j.t.Helper()
	var log []parley.Event
	for {
		var page parley.TailResult
		err := c.Call(parley.MethodTail, parley.TailParams{ConversationID: id, SinceSeq: int64(len(log)), Limit: parley.MaxPage}, &page)
		if err != nil {
			j.t.Fatalf("%s since %d: %v", id, len(log), err)
		}
		log = append(log, page.Events...)
		if page.NextSeq >= page.LatestSeq {
			break
		}
	}
	j.logs[id] = log
}

// index notes where each message stands.
func (j *judge) index(id string, log []parley.Event) {
	place := map[history.Entry]int64{}
	j.place[id] = place
	for i := range log {
		e := &log[i]
		if e.Seq != int64(i)+1 {
			j.broke(4, "%s: seq %d stands at place %d", id, e.Seq, i+1)
		}
		if e.Type != parley.TypeMessage {
			continue
		}
		if first, twice := place[entryOf(e)]; twice {
			j.broke(3, "%s: %v stands at seq %d and again at %d", id, entryOf(e), first, e.Seq)
		}
		place[entryOf(e)] = e.Seq
	}
}

// end looks for anything behind a close.
func (j *judge) end(id string, log []parley.Event) {
	for i := range log {
		if !log[i].Closes() {
			continue
		}
		j.last++
		if i+1 < len(log) {
			j.broke(5, "%s: seq %d closes it, and %d events follow: %.200s", id, i+1, len(log)-i-1, log[i+1].Raw())
		}
	}
}

// holdSaid holds the messages of one author, in the order in which they were said, against the logs.
func (j *judge) holdSaid(author string, all []*said, known map[string]map[history.Entry]bool) {
	last := map[string]int64{}
	for _, m := range all {
		id, e := m.params.ConversationID, history.Entry{From: author, Key: m.params.ClientRequestID}
		if known[id] == nil {
			known[id] = map[history.Entry]bool{}
		}
		known[id][e] = true
		seq, there := j.place[id][e]
		if j.holdOne(m, seq); !there {
			continue
		}
		if seq <= last[id] {
			j.broke(4, "%s: %s stands at seq %d, behind what was said after it (%d)", id, e.Key, seq, last[id])
		}
		last[id] = seq
	}
}

// holdOne holds a message against what stands at its seq; 0 is nowhere.
func (j *judge) holdOne(m *said, seq int64) {
	id, key := m.params.ConversationID, m.params.ClientRequestID
	j.lost += m.lost
	if m.never {
		j.never++
		if seq > 0 {
			j.broke(2, "%s: %s was refused and stands at seq %d", id, key, seq)
		}
		return
	}
	if m.seq > 0 {
		j.acked++
	}
	switch {
	case m.seq > 0 && seq == 0:
		j.broke(1, "%s: %s was acknowledged as seq %d by hub %d and is lost", id, key, m.seq, m.life)
	case m.seq > 0 && seq != m.seq:
		j.broke(1, "%s: %s was acknowledged as seq %d by hub %d and stands at %d", id, key, m.seq, m.life, seq)
	}
	if seq == 0 {
		return
	}
	e := &j.logs[id][seq-1]
	if !bytes.Equal(e.Payload, m.params.Payload) || e.Finality != m.params.Finality || m.seq > 0 && e.Turn != m.turn {
		j.broke(1, "%s: %s, sent as %s (%s, turn %d), stands as %.600s", id, key, m.params.Payload, m.params.Finality, m.turn, e.Raw())
	}
}

// holdSeen holds what a reader was shown against the logs.
func (j *judge) holdSeen(r *reader) {
	for id, seen := range r.seen {
		for i, sum := range seen {
			if i >= len(j.logs[id]) || sha256.Sum256(j.logs[id][i].Raw()) != sum {
				j.broke(4, "%s: the event that %s was shown at seq %d is not in the log", id, r.id, i+1)
				break
			}
		}
	}
}

// holdHistory asks the model of each conversation.
func (j *judge) holdHistory(ops []history.Op) {
	j.ops = len(ops)
	logs := map[string][]history.Entry{}
	for id, log := range j.logs {
		entries := make([]history.Entry, len(log))
		for i := range log {
			entries[i] = entryOf(&log[i])
		}
		logs[id] = entries
	}
	if err := history.Check(ops, logs, judgeTime); err != nil {
		j.broke(4, "%v", err)
	}
}

// holdFiles looks for each file that was acknowledged: its event where it was told to be, and all of its bytes.
func (j *judge) holdFiles(c *caller, u *uploader) {
	for _, f := range u.files {
		if f.seq == 0 {
			continue
		}
		j.files++
		log := j.logs[f.conversation]
		if f.seq > int64(len(log)) || !bytes.Contains(log[f.seq-1].Payload, []byte(f.sha256)) {
			j.broke(1, "%s: file %s was acknowledged as seq %d by hub %d, and the log does not say so", f.conversation, f.sha256, f.seq, f.life)
			continue
		}
		if err := f.whole(c); err != nil {
			j.broke(1, "%s: file acknowledged as seq %d by hub %d: %v", f.conversation, f.seq, f.life, err)
		}
	}
}
