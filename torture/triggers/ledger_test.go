package triggers

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// match is an agent that an event has woken.
type match struct {
	seq     int64 // of the event
	hops    int   // of the event
	agent   string
	session string // empty for a turn

	began    bool
	ended    parley.SessionStatus
	answered bool
	finished int    // how often a turn that was given it has finished
	reason   string // why it ended otherwise
}

// open reports whether it still waits, or is worked at.
func (m *match) open() bool { return m.reason == "" && m.finished == 0 && !m.answered }

// ledger is what the log of a conversation says of its matches: it takes one event after another,
// and finds what must not be.
type ledger struct {
	matches []*match
	// wants is whom the last event must have woken, as the next one says; last is that event.
	wants []string
	last  parley.Event
	// given has the matches of the current claim, and claimed its holder.
	given   []*match
	claimed string
	// told is the session whose answer must come next.
	told  *match
	turns int
}

// open counts the matches that wait; with turns, those by turns alone.
func (l *ledger) open(turns bool) (n int) {
	for _, m := range l.matches {
		if m.open() && (!turns || m.session == "") {
			n++
		}
	}
	return n
}

// take takes the next event.
func (l *ledger) take(e *parley.Event) error {
	if err := l.takeNext(e); err != nil {
		return fmt.Errorf("seq %d: %w: %s", e.Seq, err, e.Payload)
	}
	l.last = *e
	return nil
}

func (l *ledger) takeNext(e *parley.Event) error {
	var s parley.System
	if e.Type == parley.TypeSystem {
		var err error
		if s, err = e.System(); err != nil {
			return err
		}
	}
	switch {
	case len(l.wants) > 0 && s.Kind != parley.KindTriggerMatched:
		return fmt.Errorf("seq %d has woken nobody, expected %q", l.last.Seq, l.wants)
	case l.told != nil && s.Kind != parley.KindNote:
		return fmt.Errorf("the session %s has ended without an answer in the same commit", l.told.session)
	case e.Type == parley.TypeMessage:
		return l.message(e)
	case e.Type == parley.TypeSystem:
		return l.system(e, &s)
	}
	return nil
}

func (l *ledger) system(e *parley.Event, s *parley.System) error {
	switch s.Kind {
	case parley.KindNote:
		return l.note(e, s)
	case parley.KindTriggerMatched:
		return l.matched(e, s.Trigger)
	case parley.KindTriggerEnded:
		m := l.of(s.Trigger.SessionID)
		if m == nil || !m.open() || m.began {
			return fmt.Errorf("trigger_ended of what does not wait")
		}
		m.reason = s.Trigger.Reason
	case parley.KindSessionStarted:
		m := l.of(s.SessionID)
		if m == nil {
			return nil // of none of ours
		}
		if m.began || !m.open() {
			return fmt.Errorf("the session of seq %d begins once more", m.seq)
		}
		m.began = true
	case parley.KindSessionEnded:
		m := l.of(s.SessionID)
		if m == nil || !m.began || m.ended != "" {
			return fmt.Errorf("the end of a session that does not run")
		}
		m.ended, l.told = s.Status, m
	case parley.KindTurnClaimed:
		l.claimed, l.given = s.AgentID, nil
		for _, m := range l.waiting(s.AgentID) {
			if m.seq <= s.UpTo {
				l.given = append(l.given, m)
			}
		}
		if len(l.given) == 0 {
			return fmt.Errorf("%s has claimed a turn, and nothing has woken it", s.AgentID)
		}
	case parley.KindClaimEnded:
		l.claimed, l.given = "", nil
	case parley.KindTurnEnded:
		for _, m := range l.given {
			m.reason = parley.TriggerInterrupted
		}
		l.claimed, l.given = "", nil
	}
	return nil
}

// waiting are the matches by turns of an agent that wait.
func (l *ledger) waiting(agent string) (all []*match) {
	for _, m := range l.matches {
		if m.session == "" && m.agent == agent && m.open() {
			all = append(all, m)
		}
	}
	return all
}

func (l *ledger) of(session string) *match {
	for _, m := range l.matches {
		if session != "" && m.session == session {
			return m
		}
	}
	return nil
}

// matched takes whom the event right before has woken.
func (l *ledger) matched(e *parley.Event, t *parley.TriggerRecord) error {
	if t == nil || t.Seq != e.Seq-1 || t.Seq != l.last.Seq {
		return fmt.Errorf("trigger_matched does not follow its event")
	}
	var woken []string
	for _, w := range t.Wakes {
		woken = append(woken, w.AgentID)
		if w.Stopped != "" || w.Agent != w.AgentID || w.Workspace ||
			(w.SessionID == "") != (w.AgentID == turner || w.AgentID == second) || l.of(w.SessionID) != nil {
			return fmt.Errorf("woken in a way that was not expected: %+v", w)
		}
		l.matches = append(l.matches, &match{seq: t.Seq, hops: l.last.Hops, agent: w.AgentID, session: w.SessionID})
	}
	if !slices.Equal(woken, l.wants) {
		return fmt.Errorf("woken are %q, expected %q", woken, l.wants)
	}
	l.wants = nil
	return nil
}

// note takes work of the feeder, or an answer.
func (l *ledger) note(e *parley.Event, s *parley.System) error {
	if e.From == feeder {
		l.wants = []string{counter}
		return nil
	}
	var a struct {
		parley.Answer
		Output struct {
			Again bool `json:"again"`
		} `json:"output"`
	}
	if err := json.Unmarshal(s.Data, &a); err != nil {
		return err
	}
	m := l.told
	if m == nil || m.session != a.SessionID || m.agent != e.From || m.agent != a.Agent || m.seq != a.TriggerSeq ||
		m.answered || m.ended != a.Status {
		return fmt.Errorf("an answer to nothing")
	}
	if e.Cause == nil || e.Cause.Seq != m.seq || e.Cause.ConversationID != "" || e.Hops != m.hops+1 {
		return fmt.Errorf("cause %+v and hops %d, expected seq %d and %d", e.Cause, e.Hops, m.seq, m.hops+1)
	}
	m.answered, m.finished, l.told = true, m.finished+1, nil
	if a.Output.Again && a.Status == parley.SessionCompleted {
		l.wants = []string{echo}
	}
	return nil
}

// message takes what wakes turner and second, and what these have to say.
func (l *ledger) message(e *parley.Event) error {
	if !e.Finality.Final() || e.From == parley.HubID {
		return nil
	}
	if e.From == feeder {
		l.wants = []string{turner, second}
		return nil
	}
	given := l.given
	if l.claimed != e.From {
		given = l.waiting(e.From)
	}
	var want, told []int64
	for _, m := range given {
		m.finished++
		want = append(want, m.seq)
	}
	msg, err := e.Message()
	if err != nil || json.Unmarshal(msg.Data, &told) != nil {
		return fmt.Errorf("the words of %s: %w", e.From, err)
	}
	switch {
	case len(given) == 0:
		return fmt.Errorf("a turn of %s that nothing has woken", e.From)
	case !slices.Equal(told, want):
		return fmt.Errorf("the turn was given %v, expected %v", told, want)
	case e.Cause == nil || e.Cause.Seq != want[len(want)-1] || e.Hops != 1:
		return fmt.Errorf("cause %+v and hops %d, expected seq %d and 1", e.Cause, e.Hops, want[len(want)-1])
	}
	l.claimed, l.given = "", nil
	l.turns++
	return nil
}
