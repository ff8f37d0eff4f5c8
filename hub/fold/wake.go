package fold

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

// addWakes adds the agents that the last event triggers, right after it. A match that a limit stops is
// added with the reason. A match whose seat is unknown is left out. If it fails, it removes
// everything again.
func (d *decision) addWakes(wakes []parley.Wake) {
	if wakes = limitWakes(d.s, wakes, d.now()); len(wakes) == 0 {
		return
	}
	matched := &parley.TriggerRecord{Seq: d.s.Seq, Wakes: wakes}
	if !d.add(systemEvent(parley.System{Kind: parley.KindTriggerMatched, Trigger: matched})) {
		d.undo()
	}
}

// limitWakes returns the wakes that the last event may cause, each agent once, and sets the limit
// that stops a wake.
func limitWakes(s *State, wakes []parley.Wake, now parley.Timestamp) []parley.Wake {
	if s.WakeEvent.Seq != s.Seq || s.Closed() {
		return nil
	}
	pending := len(s.Matches)
	var limited []parley.Wake
	for _, w := range wakes {
		same := func(o parley.Wake) bool {
			return o.AgentID == w.AgentID || o.SessionID != "" && o.SessionID == w.SessionID
		}
		if !mayWake(s, &w) || slices.ContainsFunc(limited, same) {
			continue
		}
		if w.Stopped == "" {
			w.Stopped = s.WakeLimit(&w, pending, now)
		}
		if w.Stopped == "" {
			pending++
		} else {
			w.SessionID = "" // no session is started
		}
		limited = append(limited, w)
	}
	return limited
}

// WakeLimit returns the limit that prevents the last event from triggering an agent, or an empty string. pending is the
// number of matches of the conversation.
func (s *State) WakeLimit(w *parley.Wake, pending int, now parley.Timestamp) string {
	switch {
	case s.WakeEvent.Hops+1 > s.Limits.Hops():
		return parley.StoppedMaxHops
	case limitsWakeRate(s) && s.countRecent(s.WakeEvent.From, w.AgentID, now) >= s.Limits.WakesPerMinute():
		return parley.StoppedMaxWakes
	case pending >= limits.MaxWoken, s.countMatches(w.AgentID) >= limits.MaxWokenOfOne:
		return parley.StoppedTooMany
	}
	return ""
}

// addNote adds the note with which a session answers the event that triggered its agent, and the
// agents that the note triggers. If it fails, it removes everything again.
func (a *Answer) addNote(d *decision, m *Match) {
	n := a.Note
	if n == nil {
		return
	}
	ok := d.add(parley.Event{
		Type: parley.TypeSystem, From: a.By, Cause: &parley.Cause{Seq: m.Seq}, Hops: m.Hops + 1,
		Traceparent: d.c.Traceparent, Payload: encodeNote(n),
	})
	if !ok {
		d.undo()
		return
	}
	if d.addWakes(a.Wakes); d.out.Err == nil {
		d.closeAtLimit()
	}
}

func encodeNote(n *parley.Note) []byte {
	return eventdata.Encode(parley.System{Kind: parley.KindNote, Schema: n.Schema, Tags: n.Tags, Data: n.Data})
}

// decide adds that the session of a match cannot be started. It does nothing if the match is over or
// the session runs.
func (a *EndTrigger) decide(d *decision) {
	i := d.s.MatchIndex(a.SessionID)
	if i < 0 || d.s.ChildIndex(a.SessionID) >= 0 {
		return
	}
	m := d.s.Matches[i]
	e := systemEvent(parley.System{Kind: parley.KindTriggerEnded, Detail: a.Detail, Trigger: &parley.TriggerRecord{
		Seq: m.Seq, AgentID: m.AgentID, SessionID: m.SessionID, Reason: parley.TriggerNotStarted,
	}})
	if d.add(e) {
		a.addNote(d, &m)
	}
}
