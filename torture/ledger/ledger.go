package ledger

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/promise"
)

// judgeTime bounds the judgement of all histories.
const judgeTime = 5 * time.Minute

// shown is the maximum number of violations of a promise that are printed.
const shown = 5

// Ledger has the logs, and what was found wrong. One goroutine uses it.
type Ledger struct {
	// Logs are whole, by conversation.
	Logs map[string][]parley.Event
	// Acked, Never and Lost count what was compared with the logs: acknowledged messages, messages
	// that were refused for good, and lost answers.
	Acked, Never, Lost int
	// Closed is how many logs have a close, and Ops how many calls the model was asked of.
	Closed, Ops int

	t      testing.TB
	place  map[string]map[history.Entry]int64 // seq of each message, by conversation
	known  map[string]map[history.Entry]bool  // messages that a writer sent
	broken map[promise.ID][]string
}

// New takes the logs, and looks whether they are ones: dense (P4), each key once (P3), nothing
// behind a close (P5).
func New(t testing.TB, logs map[string][]parley.Event) *Ledger {
	l := &Ledger{
		t: t, Logs: logs, place: map[string]map[history.Entry]int64{}, known: map[string]map[history.Entry]bool{},
		broken: map[promise.ID][]string{},
	}
	for id, log := range logs {
		l.known[id] = map[history.Entry]bool{}
		l.index(id, log)
		l.end(id, log)
	}
	return l
}

// Broke notes a violation.
func (l *Ledger) Broke(id promise.ID, format string, args ...any) {
	l.broken[id] = append(l.broken[id], fmt.Sprintf(format, args...))
}

// Kept says how hard a promise was tried, and what broke it: the Violations of tried are those that
// were noted.
func (l *Ledger) Kept(id promise.ID, tried promise.Tried) {
	l.t.Helper()
	all := l.broken[id]
	for _, b := range all[:min(shown, len(all))] {
		l.t.Errorf("%s: %s", id, b)
	}
	tried.Violations = len(all)
	id.Kept(l.t, tried)
}

// index records the position of each message.
func (l *Ledger) index(id string, log []parley.Event) {
	place := map[history.Entry]int64{}
	l.place[id] = place
	for i := range log {
		e := &log[i]
		if e.Seq != int64(i)+1 {
			l.Broke(4, "%s: seq %d is at position %d", id, e.Seq, i+1)
		}
		if e.Type != parley.TypeMessage {
			continue
		}
		if first, twice := place[EntryOf(e)]; twice {
			l.Broke(3, "%s: %v is at seq %d and again at %d", id, EntryOf(e), first, e.Seq)
		}
		place[EntryOf(e)] = e.Seq
	}
}

// end looks for anything behind a close.
func (l *Ledger) end(id string, log []parley.Event) {
	for i := range log {
		if !log[i].Closes() {
			continue
		}
		l.Closed++
		if i+1 < len(log) {
			l.Broke(5, "%s: seq %d closes it, and %d events follow: %.200s", id, i+1, len(log)-i-1, log[i+1].Raw())
		}
	}
}

// Place returns the seq of a message of an author with a key, or 0.
func (l *Ledger) Place(id, author, key string) int64 {
	return l.place[id][history.Entry{From: author, Key: key}]
}

// Hold holds the messages of one author, in the order in which they were said, against the logs.
func (l *Ledger) Hold(author string, all []*Said) {
	last := map[string]int64{}
	for _, m := range all {
		id, e := m.Params.ConversationID, history.Entry{From: author, Key: m.Params.ClientRequestID}
		if l.known[id] == nil {
			l.known[id] = map[history.Entry]bool{}
		}
		l.known[id][e] = true
		seq, there := l.place[id][e]
		if l.holdOne(m, seq); !there {
			continue
		}
		if seq <= last[id] {
			l.Broke(4, "%s: %s is at seq %d, after a later message (%d)", id, e.Key, seq, last[id])
		}
		last[id] = seq
	}
}

// holdOne compares a message with the event at its seq. seq is 0 if the log does not have the
// message.
func (l *Ledger) holdOne(m *Said, seq int64) {
	id, key := m.Params.ConversationID, m.Params.ClientRequestID
	l.Lost += m.Lost
	if m.Never {
		l.Never++
		if seq > 0 {
			l.Broke(2, "%s: %s was refused and is at seq %d", id, key, seq)
		}
		return
	}
	if m.Seq > 0 {
		l.Acked++
	}
	switch {
	case m.Seq > 0 && seq == 0:
		l.Broke(1, "%s: %s was acknowledged as seq %d by hub %d and is lost", id, key, m.Seq, m.By)
	case m.Seq > 0 && seq != m.Seq:
		l.Broke(1, "%s: %s was acknowledged as seq %d by hub %d and is at %d", id, key, m.Seq, m.By, seq)
	}
	if seq == 0 {
		return
	}
	e := &l.Logs[id][seq-1]
	if !bytes.Equal(e.Payload, m.Params.Payload) || e.Finality != m.Params.Finality || m.Seq > 0 && e.Turn != m.Turn {
		l.Broke(1, "%s: %s, sent as %s (%s, turn %d), is in the log as %.600s", id, key, m.Params.Payload, m.Params.Finality,
			m.Turn, e.Raw())
	}
}

// HoldStrangers reports messages that no writer sent. Call it after Hold of all writers.
func (l *Ledger) HoldStrangers() {
	for id, place := range l.place {
		for e, seq := range place {
			if !l.known[id][e] {
				l.Broke(4, "%s: seq %d is %v, which no writer sent", id, seq, e)
			}
		}
	}
}

// HoldSeen compares the events that a reader received with the logs, for a promise.
func (l *Ledger) HoldSeen(promised promise.ID, reader string, all Seen) {
	for id, seen := range all {
		for i, sum := range seen {
			if i >= len(l.Logs[id]) || sha256.Sum256(l.Logs[id][i].Raw()) != sum {
				l.Broke(promised, "%s: the event that %s was shown at seq %d is not in the log", id, reader, i+1)
				break
			}
		}
	}
}

// HoldHistory asks the model of each conversation (P4).
func (l *Ledger) HoldHistory(ops []history.Op) {
	l.Ops = len(ops)
	logs := map[string][]history.Entry{}
	for id, log := range l.Logs {
		entries := make([]history.Entry, len(log))
		for i := range log {
			entries[i] = EntryOf(&log[i])
		}
		logs[id] = entries
	}
	if err := history.CheckLogs(ops, logs, judgeTime); err != nil {
		l.Broke(4, "%v", err)
	}
}
