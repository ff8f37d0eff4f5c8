package fold

import (
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// Woken is a match that waits for its turn or session, or is worked at there. It is over when a turn that was given it has ended, in whatever way, when its session
// has ended, or could not be started, and when the conversation closes.
type Match struct {
	// Wake says who is woken. Stopped is empty.
	parley.Wake
	// Seq is the event that was matched, By its author, and Hops its own.
	Seq  int64
	By   string
	Hops int
	// Traceparent is that of the event.
	Traceparent string
}

// ByTurn reports whether it waits for a turn of the conversation, not for a session.
func (w *Match) ByTurn() bool { return w.SessionID == "" }

// Waker is an event that may wake: a note, or a message with which a participant has ended a turn.
type WakeEvent struct {
	Seq     int64
	From    string
	Hops    int
	Message bool
	// Traceparent is that of the event.
	Traceparent string
}

// Pair has when the events of one author have woken one agent within the last minute, as far as that counts.
type RecentWakes struct {
	By, AgentID string
	At          []parley.Timestamp
}

// wakeWindowMs is the minute of Limits.MaxWakesPerMinute.
const wakeWindowMs = 60_000

// GivenTo gives the matches that a turn of an agent is given, in order: under a claim of its own those of events that its speaker was given, else all that wait for
// a turn now.
func (s *State) MatchesOf(agentID string, claim *Claim) []Match {
	var given []Match
	for _, w := range s.Matches {
		if s.isGiven(&w, agentID, claim) {
			given = append(given, w)
		}
	}
	return given
}

func (s *State) isGiven(w *Match, agentID string, claim *Claim) bool {
	return w.ByTurn() && w.AgentID == agentID && (claim == nil || claim.AgentID != agentID || w.Seq <= claim.UpTo)
}

// PendingSession gives the index in Woken of the match whose session has this id, or -1.
func (s *State) MatchIndex(id string) int {
	if id == "" {
		return -1
	}
	return slices.IndexFunc(s.Matches, func(w Match) bool { return w.SessionID == id })
}

// Carries gives the cause and the hops of what a participant does now: in the turn that is under way, if it is its own, or as the agent of a session, or beside a
// session of its own that a match has started or will start: it may be that session that speaks. They are nil and 0 where nothing has woken it. A cause without a
// conversation is in this one.
func (s *State) CauseOf(id string) (*parley.Cause, int) {
	return s.findCause(id, s.Open && s.Owner == id || s.Claim != nil && s.Claim.AgentID == id)
}

// CarriesWords is Carries for a message or trace: it may begin the turn in which it is said.
func (s *State) CauseOfSpeech(id string) (*parley.Cause, int) { return s.findCause(id, true) }

// carried is Carries; inTurn says whether it is for the turn that is under way or that a participant would begin now. Nothing has woken people and peers.
func (s *State) findCause(id string, inTurn bool) (cause *parley.Cause, hops int) {
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
		w := &s.Matches[i]
		if inTurn && s.isGiven(w, id, s.Claim) || !w.ByTurn() && w.AgentID == id {
			cause = &parley.Cause{Seq: w.Seq}
			hops = max(hops, w.Hops+1)
		}
	}
	return cause, hops
}

// consume takes away what the turn of a participant was given, as it ends.
func (s *State) dropMatchesOf(id string) {
	if len(s.Matches) == 0 {
		return
	}
	s.dropMatches(func(w *Match) bool {
		return s.isGiven(w, id, s.Claim)
	})
}

// dropWoken takes away matches.
func (s *State) dropMatches(over func(*Match) bool) {
	var left []Match
	for i := range s.Matches {
		if !over(&s.Matches[i]) {
			left = append(left, s.Matches[i])
		}
	}
	s.Matches = left
}

// applyMatched takes the matches of the event right before.
func (s *State) applyMatched(e *parley.Event, sys *parley.System, size int) error {
	t, by := sys.Trigger, s.WakeEvent
	if t == nil || len(t.Wakes) == 0 || t.Seq != s.Seq || by.Seq != s.Seq || s.Session != nil {
		return fmt.Errorf("event %d: trigger_matched does not follow the event that it matches", e.Seq)
	}
	s.Matches, s.Recent = slices.Clip(s.Matches), s.recentAt(e.At)
	for i, w := range t.Wakes {
		if slices.ContainsFunc(t.Wakes[:i], func(o parley.Wake) bool { return o.AgentID == w.AgentID }) {
			return fmt.Errorf("event %d: %s is woken twice by one event", e.Seq, w.AgentID)
		}
		if w.Stopped != "" {
			continue
		}
		if !s.mayWake(&w) {
			return fmt.Errorf("event %d: %s cannot be woken so", e.Seq, w.AgentID)
		}
		s.Matches = append(s.Matches, Match{Wake: w, Seq: by.Seq, By: by.From, Hops: by.Hops, Traceparent: by.Traceparent})
		if s.limitsWakeRate() {
			s.countWake(w.AgentID, e.At)
		}
	}
	s.Events++ // else two that wake each other are bounded by the hops alone
	s.Bytes += int64(size)
	return nil
}

// mayWake reports whether an agent can be woken by the last event: by a turn under the policy triggers only, and only by a message, by a session whose id is free;
// and on a seat of an agent or tool, unless it watches the workspace.
func (s *State) mayWake(w *parley.Wake) bool {
	switch {
	case s.Session != nil, !w.Workspace && !s.kindOf(w.AgentID).Claims():
		return false
	case w.SessionID == "":
		return !w.Workspace && s.Policy.Kind == parley.PolicyTriggers && s.WakeEvent.Message
	}
	return s.MatchIndex(w.SessionID) < 0 && s.ChildIndex(w.SessionID) < 0
}

// countsWakes reports whether what the last event wakes counts for Limits.MaxWakesPerMinute: not what people and peers say that nothing has woken.
func (s *State) limitsWakeRate() bool {
	kind := s.kindOf(s.WakeEvent.From) // none: a watcher of the workspace
	return s.WakeEvent.Hops > 0 || kind == "" || kind.Claims()
}

// recentAt gives Recent without what is older than the minute before a time.
func (s *State) recentAt(at parley.Timestamp) []RecentWakes {
	var recent []RecentWakes
	for _, p := range s.Recent {
		if n := slices.IndexFunc(p.At, func(t parley.Timestamp) bool { return t > at-wakeWindowMs }); n >= 0 {
			recent = append(recent, RecentWakes{p.By, p.AgentID, p.At[n:]})
		}
	}
	return recent
}

func (s *State) recentIndex(by, agentID string) int {
	return slices.IndexFunc(s.Recent, func(p RecentWakes) bool { return p.By == by && p.AgentID == agentID })
}

// countWake counts one in Recent, which is the state's own by now.
func (s *State) countWake(agentID string, at parley.Timestamp) {
	i := s.recentIndex(s.WakeEvent.From, agentID)
	if i < 0 {
		i = len(s.Recent)
		s.Recent = append(s.Recent, RecentWakes{By: s.WakeEvent.From, AgentID: agentID})
	}
	s.Recent[i].At = append(slices.Clip(s.Recent[i].At), at)
}

// applyTriggerEnded takes away the match of a session that could not be started.
func (s *State) applyTriggerEnded(e *parley.Event, sys *parley.System) error {
	t := sys.Trigger
	if t == nil {
		return fmt.Errorf("event %d: trigger_ended of none", e.Seq)
	}
	i := s.MatchIndex(t.SessionID)
	if i < 0 || s.Matches[i].Seq != t.Seq || s.Matches[i].AgentID != t.AgentID || s.ChildIndex(t.SessionID) >= 0 {
		return fmt.Errorf("event %d: trigger_ended of a match that does not wait", e.Seq)
	}
	s.dropMatches(func(w *Match) bool { return w.SessionID == t.SessionID })
	s.ActiveAt = e.At
	return nil
}
