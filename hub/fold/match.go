package fold

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// Triggers are the matches of a conversation.
type Triggers struct {
	// Matches are in the order of their events.
	Matches []Match
	// Recent are the wakes that count for Limits.MaxWakesPerMinute.
	Recent []RecentWakes
	// WakeEvent is the last event that may wake agents.
	WakeEvent WakeEvent
}

// Match is an agent that an event triggered. The match is pending until a turn that received it ends, until its session
// ends or cannot be started, or until the conversation closes.
type Match struct {
	// Wake is the agent. Its Stopped is empty.
	parley.Wake
	// Seq is the event, By its author, and Hops its hops.
	Seq  int64
	By   string
	Hops int
	// Traceparent is that of the event.
	Traceparent string
}

// ByTurn reports whether the match waits for a turn of the conversation, not for a session.
func (m *Match) ByTurn() bool { return m.SessionID == "" }

// isGivenTo reports whether a turn of an agent receives the match. Under a claim of the agent, it receives the matches
// of the events that the holder of the claim has received.
func (m *Match) isGivenTo(agentID string, claim *Claim) bool {
	return m.ByTurn() && m.AgentID == agentID && (claim == nil || claim.AgentID != agentID || m.Seq <= claim.UpTo)
}

// WakeEvent is an event that may wake agents: a note, or a message with which a participant ended a turn.
type WakeEvent struct {
	Seq     int64
	From    string
	Hops    int
	Message bool
	// Traceparent is that of the event.
	Traceparent string
}

// RecentWakes are the times of the last minute at which events of one author woke one agent.
type RecentWakes struct {
	By, AgentID string
	At          []parley.Timestamp
}

// wakeWindowMs is the minute of Limits.MaxWakesPerMinute.
const wakeWindowMs = 60_000

// MatchesOf returns the matches that a turn of an agent receives, in order.
func (t *Triggers) MatchesOf(agentID string, claim *Claim) []Match {
	var given []Match
	for _, m := range t.Matches {
		if m.isGivenTo(agentID, claim) {
			given = append(given, m)
		}
	}
	return given
}

// MatchIndex returns the index in Matches of the match with a session, or -1.
func (t *Triggers) MatchIndex(session string) int {
	if session == "" {
		return -1
	}
	return slices.IndexFunc(t.Matches, func(m Match) bool { return m.SessionID == session })
}

// firstMatch returns the first match that waits for a turn, or nil.
func (t *Triggers) firstMatch() *Match {
	for i := range t.Matches {
		if m := &t.Matches[i]; m.ByTurn() {
			return m
		}
	}
	return nil
}

// dropMatchesOf removes the matches that the turn of a participant received.
func (t *Triggers) dropMatchesOf(id string, claim *Claim) {
	t.dropMatches(func(m *Match) bool { return m.isGivenTo(id, claim) })
}

func (t *Triggers) dropMatches(over func(*Match) bool) {
	var left []Match
	for i := range t.Matches {
		if !over(&t.Matches[i]) {
			left = append(left, t.Matches[i])
		}
	}
	t.Matches = left
}

// countMatches counts the matches of an agent.
func (t *Triggers) countMatches(agentID string) int {
	n := 0
	for i := range t.Matches {
		if t.Matches[i].AgentID == agentID {
			n++
		}
	}
	return n
}

// dropOldWakes copies Recent without the wakes that are older than a minute.
func (t *Triggers) dropOldWakes(now parley.Timestamp) {
	var recent []RecentWakes
	for _, r := range t.Recent {
		if n := slices.IndexFunc(r.At, func(at parley.Timestamp) bool { return at > now-wakeWindowMs }); n >= 0 {
			recent = append(recent, RecentWakes{r.By, r.AgentID, r.At[n:]})
		}
	}
	t.Recent = recent
}

func (t *Triggers) recentIndex(by, agentID string) int {
	return slices.IndexFunc(t.Recent, func(r RecentWakes) bool { return r.By == by && r.AgentID == agentID })
}

// countRecent counts how often the events of an author woke an agent in the last minute.
func (t *Triggers) countRecent(by, agentID string, now parley.Timestamp) int {
	i := t.recentIndex(by, agentID)
	if i < 0 {
		return 0
	}
	n := 0
	for _, at := range t.Recent[i].At {
		if at > now-wakeWindowMs {
			n++
		}
	}
	return n
}

// addRecent adds a wake to Recent, which dropOldWakes has copied.
func (t *Triggers) addRecent(by, agentID string, at parley.Timestamp) {
	i := t.recentIndex(by, agentID)
	if i < 0 {
		i = len(t.Recent)
		t.Recent = append(t.Recent, RecentWakes{By: by, AgentID: agentID})
	}
	t.Recent[i].At = append(slices.Clip(t.Recent[i].At), at)
}

// CauseOf returns the cause and the hops of an event that a participant adds now. They come from the matches and the
// callback of its current turn, from its session, and from the sessions that its matches start, because such a
// session may add the event. They are nil and 0 if nothing triggered it. A cause without a conversation is in this
// conversation.
func (s *State) CauseOf(id string) (*parley.Cause, int) {
	return findCause(s, id, s.Open && s.Owner == id || s.Claim != nil && s.Claim.AgentID == id)
}

// CauseOfSpeech is CauseOf for a message or trace, which may begin the turn.
func (s *State) CauseOfSpeech(id string) (*parley.Cause, int) { return findCause(s, id, true) }

// findCause implements CauseOf. inTurn is true for an event of the current turn. Nothing triggers people and peers.
func findCause(s *State, id string, inTurn bool) (cause *parley.Cause, hops int) {
	if r := s.Session; r != nil {
		if id != r.AgentID {
			return nil, 0
		}
		return r.Cause, r.Hops
	}
	if len(s.Matches) == 0 && s.CallbackHops == 0 || !s.kindOf(id).Claims() {
		return nil, 0
	}
	if inTurn && id == s.CallbackFor {
		hops = s.CallbackHops
	}
	for i := range s.Matches {
		m := &s.Matches[i]
		if inTurn && m.isGivenTo(id, s.Claim) || !m.ByTurn() && m.AgentID == id {
			cause = &parley.Cause{Seq: m.Seq}
			hops = max(hops, m.Hops+1)
		}
	}
	return cause, hops
}

// mayWake reports whether the last event can wake an agent. A message can do so by a turn under the policy triggers.
// Any event can do so by a session with an unused id. The agent has a seat of an agent or tool, or watches the
// workspace.
func mayWake(s *State, w *parley.Wake) bool {
	switch {
	case s.Session != nil, !w.Workspace && !s.kindOf(w.AgentID).Claims():
		return false
	case w.SessionID == "":
		return !w.Workspace && s.Policy.Kind == parley.PolicyTriggers && s.WakeEvent.Message
	}
	return s.MatchIndex(w.SessionID) < 0 && s.ChildIndex(w.SessionID) < 0
}

// limitsWakeRate reports whether the wakes of the last event count for Limits.MaxWakesPerMinute. They do unless a
// person or peer added the event and nothing triggered it.
func limitsWakeRate(s *State) bool {
	kind := s.kindOf(s.WakeEvent.From) // empty for a watcher of the workspace
	return s.WakeEvent.Hops > 0 || kind == "" || kind.Claims()
}

// applyMatched adds the matches of the preceding event.
func applyMatched(s *State, e *parley.Event, sys *parley.System, size int) error {
	t, by := sys.Trigger, s.WakeEvent
	if t == nil || len(t.Wakes) == 0 || t.Seq != s.Seq || by.Seq != s.Seq || s.Session != nil {
		return errors.New("trigger_matched does not follow the event that it matches")
	}
	s.Matches = slices.Clip(s.Matches)
	s.dropOldWakes(e.At)
	for i, w := range t.Wakes {
		if slices.ContainsFunc(t.Wakes[:i], func(o parley.Wake) bool { return o.AgentID == w.AgentID }) {
			return fmt.Errorf("one event wakes %s twice", w.AgentID)
		}
		if w.Stopped != "" {
			continue
		}
		if !mayWake(s, &w) {
			return fmt.Errorf("%s cannot be woken so", w.AgentID)
		}
		s.Matches = append(s.Matches, Match{Wake: w, Seq: by.Seq, By: by.From, Hops: by.Hops, Traceparent: by.Traceparent})
		if limitsWakeRate(s) {
			s.addRecent(by.From, w.AgentID, e.At)
		}
	}
	s.count(size) // else only the hops would bound two agents that wake each other
	return nil
}

// applyTriggerEnded removes the match of a session that could not be started.
func applyTriggerEnded(s *State, e *parley.Event, sys *parley.System) error {
	t := sys.Trigger
	if t == nil {
		return errors.New("trigger_ended without a trigger")
	}
	i := s.MatchIndex(t.SessionID)
	if i < 0 || s.Matches[i].Seq != t.Seq || s.Matches[i].AgentID != t.AgentID || s.ChildIndex(t.SessionID) >= 0 {
		return errors.New("trigger_ended of a match that does not wait")
	}
	s.dropMatches(func(m *Match) bool { return m.SessionID == t.SessionID })
	s.ActiveAt = e.At
	return nil
}
