package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

// feedsHold: what a reader was given is the log behind its cursor, byte by byte, up to the end.
func (j *judgement) feedsHold() {
	for _, f := range j.feeds {
		j.n.delivered, j.n.joins = j.n.delivered+int64(len(f.seqs)), j.n.joins+int64(f.joins)
		i := 0
		for _, c := range j.logs[f.conversation] {
			if c.Seq <= f.since || !f.everything && c.Type == parley.TypeTrace {
				continue
			}
			if i == len(f.seqs) {
				j.problem(9, "%s was not given %s/%d", f.name, f.conversation, c.Seq)
				break
			}
			if f.seqs[i] != c.Seq || !bytes.Equal(f.events[i], c.Raw()) {
				j.problem(9, "%s was given %s/%d where %d stands: %s", f.name, f.conversation, f.seqs[i], c.Seq, f.events[i])
				break
			}
			i++
		}
		if i == len(j.logs[f.conversation]) && i < len(f.seqs) {
			j.problem(9, "%s was given %d events of %s too many", f.name, len(f.seqs)-i, f.conversation)
		}
	}
}

// pagesHold checks that each page has the events after its cursor, up to the end that the page
// names.
func (j *judgement) pagesHold() {
	for _, p := range j.pages {
		log := j.logs[p.conversation]
		if p.next != p.since+int64(len(p.events)) || p.next > int64(len(log)) {
			j.problem(4, "a page of %s behind %d has %d events and goes to %d of %d", p.conversation, p.since, len(p.events),
				p.next, len(log))
			continue
		}
		for i, e := range p.events {
			if want := log[p.since+int64(i)]; !bytes.Equal(e.Raw(), want.Raw()) {
				j.problem(4, "a page of %s behind %d has as number %d\n  %s\nand the log\n  %s", p.conversation, p.since, i+1,
					e.Raw(), want.Raw())
			}
		}
	}
}

// slack is what an answer may be late because the hub counts in ms, and the observer looks a little
// later.
const slack = 2 * time.Millisecond

// waitsHold: a wait ends when there is a change, at once, or at its timeout.
func (j *judgement) waitsHold() {
	for _, w := range j.waits {
		j.n.waits++
		due := w.began.Add(w.timeout)
		change, changed := j.written[placeOf(w.conversation, w.since+1)]
		name := fmt.Sprintf("a wait of %v for %s behind %d, begun at %s", w.timeout, w.conversation, w.since,
			w.began.Format("15:04:05.000"))
		switch {
		case w.timedOut != (w.latest <= w.since && w.timeout > 0):
			j.problem(10, "%s says that it was in vain: %t; and that the log has %d events", name, w.timedOut, w.latest)
		case w.latest <= w.since && w.ended.Add(slack).Before(due):
			j.problem(10, "%s ends at %s for no reason", name, w.ended.Format("15:04:05.000"))
		case w.ended.After(due.Add(slack)):
			j.problem(10, "%s ends as late as %s", name, w.ended.Format("15:04:05.000"))
		case changed && later(change, w.began).Add(slack).Before(w.ended):
			j.problem(10, "%s ends at %s, and the change was at %s", name, w.ended.Format("15:04:05.000"),
				change.Format("15:04:05.000"))
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// guidanceHolds checks that all received guidance matches the log at its seq.
func (j *judgement) guidanceHolds() {
	for _, g := range j.told {
		j.n.told++
		log := j.logs[g.conversation]
		if g.seq < 1 || g.seq > int64(len(log)) {
			j.problem(15, "%s was told guidance at %s/%d, and the log has %d events", g.who, g.conversation, g.seq, len(log))
			continue
		}
		s := log[g.seq-1].after
		want, got := s.Guidance(g.who, g.exact), g.guidance
		if !g.exact {
			rest, begins := strings.CutPrefix(got.Reason, want.Reason)
			if begins && (rest == "" || strings.Contains(rest, " attempts at turn ") ||
				strings.HasPrefix(rest, " No executor of ")) {
				got.Reason = want.Reason
			}
		}
		if !reflect.DeepEqual(got, want) {
			j.problem(15, "%s was told by %s at %s/%d\n  %+v\nand the log says\n  %+v", g.who, g.how, g.conversation, g.seq,
				got, want)
		}
	}
}

// sessionsHold checks that a key starts one session. Each session starts and ends once in its
// parent, and is reported as often as its mode requires.
func (j *judgement) sessionsHold() {
	begun, ended, calledBack := make(map[string]int), make(map[string]int), make(map[string]int)
	for _, c := range j.logs[parent] {
		switch c.sys.Kind {
		case parley.KindSessionStarted:
			begun[c.sys.SessionID]++
		case parley.KindSessionEnded:
			ended[c.sys.SessionID]++
		}
		if c.Type == parley.TypeMessage && c.From == parley.HubID {
			var told parley.Callbacks
			m, _ := c.Message()
			_ = json.Unmarshal(m.Data, &told) // the closing message has none
			for _, b := range told.Callbacks {
				calledBack[b.ChildSessionID]++
			}
		}
	}
	for id, log := range j.logs {
		session := log[len(log)-1].after.Session
		if session == nil {
			continue
		}
		j.n.sessions++
		most := 0
		if session.Mode == parley.ModeAsyncCallback {
			most = 1
		}
		if begun[id] > 1 || ended[id] > begun[id] || calledBack[id] > most {
			j.problem(3, "the session %s has begun %d times, ended %d times, and was told of %d times", id, begun[id],
				ended[id], calledBack[id])
		}
	}
	for _, s := range j.starts {
		if len(s.sessions) > 1 {
			j.problem(3, "the key %s has begun %d sessions", s.key, len(s.sessions))
		}
		for id := range s.sessions {
			if len(j.logs[id]) == 0 {
				j.problem(1, "the session %s was begun, and is not there", id)
			}
		}
	}
}
