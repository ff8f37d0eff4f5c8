package fold_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/limits"
)

// match is one that the log says waits.
type match struct {
	Seq              int64
	AgentID, Session string
	Hops             int
}

// ended is a match that was over with an event.
type ended struct {
	match
	endedAt int64
}

// waking is one agent that one event has woken, and when.
type waking struct {
	by, agent string
	at        parley.Timestamp
	counts    bool
}

// ledger reads a log without the fold: the matches, their events, and their ends. Every match ends once.
type ledger struct {
	params   parley.CreateConversationParams
	pending  []match
	wakings  []waking
	last     parley.Event // the event before
	mayWake  bool         // whether it is a note or a final message
	owner    string       // of the turn that is open
	claimer  string
	upTo     int64
	running  map[string]bool // sessions that were started
	over     ended           // the match of the session that ended last
	closed   bool
	answers  int
	finished int
}

func (l *ledger) kind(id string) parley.ParticipantKind {
	for _, p := range l.params.Participants {
		if p.ID == id {
			return p.Kind
		}
	}
	return ""
}

// given is what a turn of an agent was given.
func (l *ledger) given(id string) []match {
	var out []match
	for _, m := range l.pending {
		if m.Session == "" && m.AgentID == id && (l.claimer != id || m.Seq <= l.upTo) {
			out = append(out, m)
		}
	}
	return out
}

// read takes the next event.
func (l *ledger) read(rt *rapid.T, e *parley.Event) {
	if l.closed {
		rt.Fatalf("event %d after the close", e.Seq)
	}
	mayWake := false
	if e.Type == parley.TypeSystem {
		mayWake = l.readSystem(rt, e)
	} else {
		mayWake = l.readSpeech(rt, e)
	}
	l.last, l.mayWake = *e, mayWake
}

func (l *ledger) readSpeech(rt *rapid.T, e *parley.Event) bool {
	if e.From != parley.HubID {
		l.checkCause(rt, e, true)
	}
	l.owner = e.From
	if !e.Finality.Final() {
		return false
	}
	if e.From != parley.HubID {
		l.end(e.From)
	}
	l.owner, l.claimer = "", ""
	if e.Finality == parley.FinalityConversation {
		l.closed, l.pending = true, nil
	}
	return e.From != parley.HubID
}

// end takes away what the turn was given.
func (l *ledger) end(id string) {
	given := l.given(id)
	l.finished += len(given)
	l.pending = slices.DeleteFunc(l.pending, func(m match) bool { return slices.Contains(given, m) })
}

// checkCause checks the cause of an event in a turn that received matches, or beside a session that a match started.
// It is the last match, with one hop more than the most of them. Other events have no cause.
func (l *ledger) checkCause(rt *rapid.T, e *parley.Event, inTurn bool) {
	var want parley.Event
	given := l.given(e.From)
	for _, m := range l.pending {
		if !l.kind(e.From).Claims() || m.AgentID != e.From {
			continue
		}
		if m.Session != "" || inTurn && slices.Contains(given, m) {
			want.Cause, want.Hops = &parley.Cause{Seq: m.Seq}, max(want.Hops, m.Hops+1)
		}
	}
	if !cmp.Equal(want.Cause, e.Cause) || want.Hops != e.Hops {
		rt.Fatalf("event %d of %s has the cause %+v and %d hops, want %+v and %d", e.Seq, e.From, e.Cause, e.Hops,
			want.Cause, want.Hops)
	}
}

func (l *ledger) readSystem(rt *rapid.T, e *parley.Event) bool {
	sys, err := e.System()
	if err != nil {
		rt.Fatal(err)
	}
	switch sys.Kind {
	case parley.KindNote:
		if sys.Schema == answerSchema {
			l.checkAnswer(rt, e)
		} else {
			l.checkCause(rt, e, l.claimer == e.From || l.owner == e.From)
		}
		return true
	case parley.KindTurnClaimed:
		l.claimer, l.upTo = sys.AgentID, sys.UpTo
	case parley.KindClaimEnded:
		l.claimer = ""
	case parley.KindTurnEnded:
		l.end(sys.AgentID)
		l.owner, l.claimer = "", ""
	case parley.KindSessionStarted:
		l.running[sys.SessionID] = true
	case parley.KindSessionEnded:
		if i := l.session(sys.SessionID); i >= 0 {
			l.finished++
			l.over = ended{l.pending[i], e.Seq}
			l.pending = slices.Delete(l.pending, i, i+1)
		} else if !l.running[sys.SessionID] {
			rt.Fatalf("the session %s has ended, and never was", sys.SessionID)
		}
		delete(l.running, sys.SessionID)
	case parley.KindTriggerEnded:
		i := l.session(sys.Trigger.SessionID)
		if i < 0 || l.pending[i].Seq != sys.Trigger.Seq || l.pending[i].AgentID != sys.Trigger.AgentID ||
			l.running[sys.Trigger.SessionID] {
			rt.Fatalf("%+v ends, of %+v", sys.Trigger, l.pending)
		}
		l.over = ended{l.pending[i], e.Seq}
		l.pending = slices.Delete(l.pending, i, i+1)
	case parley.KindTriggerMatched:
		l.matched(rt, e, sys.Trigger)
	}
	return false
}

// checkAnswer: an answer follows the end of its match in the same commit, and has that for its cause.
func (l *ledger) checkAnswer(rt *rapid.T, e *parley.Event) {
	l.answers++
	if o := l.over; l.last.Seq != o.endedAt || e.From != o.AgentID || e.Cause == nil ||
		*e.Cause != (parley.Cause{Seq: o.Seq}) || e.Hops != o.Hops+1 {
		rt.Fatalf("event %d answers with the cause %+v and %d hops, after %+v", e.Seq, e.Cause, e.Hops, o)
	}
}

func (l *ledger) session(id string) int {
	return slices.IndexFunc(l.pending, func(m match) bool { return m.Session != "" && m.Session == id })
}

// matched holds what the hub says of each agent against the limits.
func (l *ledger) matched(rt *rapid.T, e *parley.Event, t *parley.TriggerRecord) {
	if !l.mayWake || t.Seq != l.last.Seq || len(t.Wakes) == 0 {
		rt.Fatalf("event %d matches %d, after %d, which may wake: %t", e.Seq, t.Seq, l.last.Seq, l.mayWake)
	}
	counts := l.last.Hops > 0 || l.kind(l.last.From) == "" || l.kind(l.last.From).Claims()
	for _, w := range t.Wakes {
		recent, ofOne := 0, 0
		for _, o := range l.wakings {
			if o.counts && o.by == l.last.From && o.agent == w.AgentID && o.at > e.At-60_000 {
				recent++
			}
		}
		for _, m := range l.pending {
			if m.AgentID == w.AgentID {
				ofOne++
			}
		}
		want := ""
		switch {
		case l.last.Hops+1 > l.params.Limits.Hops():
			want = parley.StoppedMaxHops
		case counts && recent >= l.params.Limits.WakesPerMinute():
			want = parley.StoppedMaxWakes
		case len(l.pending) >= limits.MaxWoken || ofOne >= limits.MaxWokenOfOne:
			want = parley.StoppedTooMany
		}
		if w.Stopped != want {
			rt.Fatalf("%s is stopped by %q, want %q: %d hops, %d wakes before", w.AgentID, w.Stopped, want, l.last.Hops, recent)
		}
		if want != "" {
			continue
		}
		byTurn := w.SessionID == ""
		switch {
		case !w.Workspace && !l.kind(w.AgentID).Claims():
			rt.Fatalf("%s is woken, who is no agent here", w.AgentID)
		case byTurn && (l.last.Type != parley.TypeMessage || w.Workspace || l.params.Policy.Kind != parley.PolicyTriggers):
			rt.Fatalf("%s is woken by a turn", w.AgentID)
		case !byTurn && (l.session(w.SessionID) >= 0 || l.running[w.SessionID]):
			rt.Fatalf("a second session %s", w.SessionID)
		}
		l.pending = append(l.pending, match{l.last.Seq, w.AgentID, w.SessionID, l.last.Hops})
		l.wakings = append(l.wakings, waking{l.last.From, w.AgentID, e.At, counts})
	}
}

// compare holds the state against the log.
func (l *ledger) compare(rt *rapid.T, s *fold.State) {
	var got []match
	for _, w := range s.Matches {
		got = append(got, match{w.Seq, w.AgentID, w.SessionID, w.Hops})
	}
	want := slices.Clone(l.pending)
	if len(want) == 0 {
		want = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("what waits (-log +fold):\n%s", diff)
	}
}
