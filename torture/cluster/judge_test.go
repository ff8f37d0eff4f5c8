package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/ledger"
)

// verdict holds what was told by any hub against the log, and the hubs against each other.
type verdict struct {
	*ledger.Ledger
	w                                *world
	followed                         int // events that subscribers were given
	compared                         int // events of other hubs, and of an export, that were held against those of the first
	found, conflicts, refused, turns int
}

// judge reads every conversation at every hub, and holds all that the users know against it.
func judge(w *world) *verdict {
	w.t.Helper()
	w.mu.Lock()
	known := maps.Clone(w.known)
	w.mu.Unlock()
	j := w.c.agree(known)
	j.w = w
	j.holdUsers()
	return j
}

// agree holds what each hub tells of the conversations against what the others do, and against an export, and verifies the log.
func (c *cluster) agree(known map[string]int64) *verdict {
	c.t.Helper()
	first := c.logsAt(1, known)
	j := &verdict{Ledger: ledger.New(c.t, first.events)}
	for hub := 2; hub <= hubs; hub++ {
		j.compare(fmt.Sprintf("hub %d", hub), first, c.logsAt(hub, known))
	}
	verified, err := c.run("log", "verify", "--data", c.journal)
	if err != nil {
		j.Broke(1, "the log does not verify: %v", err)
	}
	c.t.Logf("log verify: %s", bytes.TrimSpace(verified))
	exported, err := c.export()
	if err != nil {
		j.Broke(1, "the log cannot be exported: %v", err)
	}
	j.compare("an export", first, exported)
	return j
}

// holdUsers holds what everybody knows against the log.
func (j *verdict) holdUsers() {
	w := j.w
	for _, a := range w.writers {
		j.Hold(a.id, a.said)
		j.found, j.conflicts, j.refused = j.found+a.found, j.conflicts+a.conflicts, j.refused+a.refused
	}
	for _, a := range w.closers {
		j.Hold(a.id, a.said)
	}
	j.HoldStrangers()
	for _, r := range w.readers {
		j.HoldSeen(4, r.id, r.seen)
	}
	for _, s := range w.subscribers {
		j.holdSubscriber(s)
	}
	j.HoldHistory(w.recorder.Ops())
}

// holdSubscriber: it was given all events of its group, each once and in order.
func (j *verdict) holdSubscriber(s *subscriber) {
	for _, wrong := range s.wrong {
		j.Broke(9, "%s: %s", s.id, wrong)
	}
	j.HoldSeen(9, s.id, s.seen)
	j.turns += s.turns
	for id, log := range j.Logs {
		if !strings.HasPrefix(id, fmt.Sprintf("g%d-", s.group)) {
			continue
		}
		j.followed += len(s.seen[id])
		if len(s.seen[id]) != len(log) {
			j.Broke(9, "%s: %s was given %d events, and there are %d", id, s.id, len(s.seen[id]), len(log))
		}
	}
}

// logs are all conversations as somebody tells them.
type logs struct {
	events map[string][]parley.Event
	heads  map[string]string // their hashes, in hexadecimal
}

// has reports whether a message stands where it was acknowledged.
func (l *logs) has(author string, m *ledger.Said) bool {
	log := l.events[m.Params.ConversationID]
	if m.Seq > int64(len(log)) {
		return false
	}
	e := &log[m.Seq-1]
	return e.Seq == m.Seq && e.From == author && e.ClientRequestID == m.Params.ClientRequestID
}

// compare holds what somebody tells against what the first hub does: the same bytes, and the same hash of the head.
func (j *verdict) compare(who string, first, other *logs) {
	if len(first.events) != len(other.events) {
		j.Broke(1, "hub 1 has %d conversations, and %s %d", len(first.events), who, len(other.events))
	}
	for id, log := range first.events {
		same := other.events[id]
		if len(same) != len(log) || first.heads[id] != other.heads[id] {
			j.Broke(1, "%s: hub 1 has %d events, hash %s, and %s %d, hash %s", id, len(log), first.heads[id], who, len(same), other.heads[id])
			continue
		}
		for i := range log {
			if !bytes.Equal(log[i].Raw(), same[i].Raw()) {
				j.Broke(1, "%s: seq %d is %.300s at hub 1, and %.300s at %s", id, i+1, log[i].Raw(), same[i].Raw(), who)
				break
			}
		}
		j.compared += len(log)
	}
}

// logsAt reads all conversations, of which somebody knows that they have events up to a seq, at one hub.
func (c *cluster) logsAt(hub int, known map[string]int64) *logs {
	c.t.Helper()
	l := &logs{events: map[string][]parley.Event{}, heads: map[string]string{}}
	start := time.Now()
	for {
		err := l.readAll(c, hub, known)
		if err == nil {
			break
		}
		c.t.Logf("hub %d, all being well, after %.1f s: %v", hub, time.Since(start).Seconds(), err)
		if !errors.Is(err, hubproc.ErrGone) || time.Since(start) > backTime {
			c.t.Fatalf("hub %d cannot be read", hub)
		}
	}
	return l
}

// readAll reads what is not read yet.
func (l *logs) readAll(c *cluster, hub int, known map[string]int64) error {
	to, err := c.dial(hub, auditor)
	if err != nil {
		return err
	}
	defer to.Close()
	for id, seq := range known {
		if l.events[id] != nil {
			continue
		}
		if err := l.read(to, id, seq); err != nil {
			return fmt.Errorf("%s: %w", id, c.away(err))
		}
	}
	return nil
}

// errNoLog: what hubs answer is no log.
var errNoLog = errors.New("no whole log")

// read reads one conversation, which has events up to a seq at least.
func (l *logs) read(c *caller, id string, known int64) error {
	var snap parley.Snapshot
	if err := c.Call(parley.MethodGetConversation, parley.GetConversationParams{ConversationID: id, SinceSeq: known}, &snap); err != nil {
		return err
	}
	var log []parley.Event
	for int64(len(log)) < snap.LatestSeq {
		var page parley.TailResult
		if err := c.Call(parley.MethodTail, parley.TailParams{ConversationID: id, SinceSeq: int64(len(log)), Limit: parley.MaxPage}, &page); err != nil {
			return err
		}
		if len(page.Events) == 0 {
			return fmt.Errorf("%w: %d events of %d", errNoLog, len(log), snap.LatestSeq)
		}
		log = append(log, page.Events...)
	}
	l.events[id], l.heads[id] = log, snap.HeadHash
	return nil
}

// export gives what an export of the stream has, read by a program of its own. With an error it is what there is before that.
func (c *cluster) export() (*logs, error) {
	l := &logs{events: map[string][]parley.Event{}, heads: map[string]string{}}
	out, err := c.run("log", "export", "--data", c.journal)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var line struct {
			ConversationID string          `json:"conversationId"`
			Hash           string          `json:"hash"`
			Event          json.RawMessage `json:"event"`
		}
		var e parley.Event
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Event == nil || strings.HasPrefix(line.ConversationID, "~") {
			continue // torn, or not of interest
		}
		if err := json.Unmarshal(line.Event, &e); err != nil {
			return l, err
		}
		l.events[line.ConversationID] = append(l.events[line.ConversationID], e)
		l.heads[line.ConversationID] = line.Hash
	}
	return l, errors.Join(err, lines.Err())
}

// tell sums a run up.
func (j *verdict) tell(took, worst time.Duration) {
	j.w.t.Helper()
	j.w.t.Logf("%d appends acknowledged by three hubs, %d answers lost, %d refused for good, %d reads, %d conversations closed, %d calls judged; %d events compared; "+
		"subscribers went on from their cursors %d times; slowest to be well again %.1f s; all in %.0f s",
		j.Acked, j.Lost, j.Never, j.w.reads.Load(), j.Closed, j.Ops, j.compared, j.turns, worst.Seconds(), took.Seconds())
}

// kept says how hard the promises were tried.
func (j *verdict) kept(faults int) {
	j.w.t.Helper()
	if j.Lost == 0 || j.found == 0 || j.conflicts == 0 || j.refused == 0 || j.Closed == 0 || j.turns == 0 || j.w.reads.Load() == 0 {
		j.w.t.Errorf("%d answers lost, %d old messages said again, %d keys taken, %d late ones refused, %d conversations closed, %d reads, %d turns of subscribers: the run proves too little",
			j.Lost, j.found, j.conflicts, j.refused, j.Closed, j.w.reads.Load(), j.turns)
	}
	j.Kept(1, promise.Tried{Faults: faults, Operations: j.Acked, Unknown: j.Lost, Figure: fmt.Sprintf("%d appends to three hubs", j.Acked)})
	j.Kept(2, promise.Tried{Faults: faults, Operations: j.Never, Unknown: j.Lost})
	j.Kept(3, promise.Tried{Faults: faults, Operations: j.found + j.conflicts, Unknown: j.Lost})
	j.Kept(4, promise.Tried{Faults: faults, Operations: j.Ops, Unknown: j.Lost})
	j.Kept(5, promise.Tried{Faults: faults, Operations: j.Closed + int(j.w.shut.Load()), Unknown: j.Lost})
	j.Kept(9, promise.Tried{Faults: faults, Operations: j.followed})
}
