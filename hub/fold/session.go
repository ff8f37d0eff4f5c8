package fold

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
)

// Child is a session that was started from a conversation. It has not ended, as far as this log
// shows.
type Child struct {
	ID    string
	By    string // the participant that started it
	Agent string // its name
	Mode  parley.SessionMode
	// Hops are those of the events of its agent.
	Hops int
}

// EndedChild is a session in mode async_callback that ended. Its parent was not notified yet.
type EndedChild struct {
	ID, By, Agent string
	Status        parley.SessionStatus
	Hops          int
}

// Sessions is the session that the conversation is, and the sessions that were started from it.
type Sessions struct {
	// Session is nil if the conversation is not a session. Progress is the last progress that its agent reported.
	Session  *parley.SessionRecord
	Progress *parley.SessionProgress
	// Children run. Callbacks are ended sessions of which the starters were not notified yet.
	Children  []Child
	Callbacks []EndedChild
	// CallbackFor has the floor because it was notified. CallbackHops are the hops of that message.
	CallbackFor  string
	CallbackHops int
}

// ChildIndex returns the index of a session in Children, or -1.
func (c *Sessions) ChildIndex(id string) int {
	return slices.IndexFunc(c.Children, func(c Child) bool { return c.ID == id })
}

// WaitsForSession reports whether a participant waits for a session that it started.
func (c *Sessions) WaitsForSession(id string) bool {
	return slices.ContainsFunc(c.Children, func(c Child) bool { return c.By == id && c.Mode == parley.ModeSync })
}

// HasCallback reports whether a session ended and its starter was not notified yet.
func (c *Sessions) HasCallback(id string) bool {
	return slices.ContainsFunc(c.Callbacks, func(c EndedChild) bool { return c.ID == id })
}

// AtBoundary reports whether a callback may come now. It may not come in a turn that is open, that
// is claimed, or that waits for an approval.
func (s *State) AtBoundary() bool {
	return s.Exists() && !s.Closed() && !s.Open && s.Claim == nil && !s.AwaitsApproval()
}

// CallbackRecipient returns the participant that may be notified now of its ended sessions, or an empty
// string. An agent that was notified has its turn before others are notified. A person may be away,
// so others do not wait for one.
func (s *State) CallbackRecipient() string {
	if len(s.Callbacks) == 0 || !s.AtBoundary() {
		return ""
	}
	if seat := s.Seat(s.CallbackFor); seat < 0 || !s.Participants[seat].Kind.Claims() {
		return s.Callbacks[0].By
	}
	if slices.ContainsFunc(s.Callbacks, func(c EndedChild) bool { return c.By == s.CallbackFor }) {
		return s.CallbackFor
	}
	return ""
}

// ServedBy returns what an executor must serve to be offered the turns of a seat: the name of its
// agent or, in the session of a runner, the key of that runner. It is empty while the session has
// no runner.
func (s *State) ServedBy(seat int) string {
	p, r := s.Participants[seat], s.Session
	switch {
	case r == nil || r.AgentID != p.ID:
		return AgentName(p)
	case r.Runner != nil:
		return ExecutorKey(r.Runner.ParticipantID, r.Runner.RunnerID)
	case r.OfRunner():
		return ""
	}
	return r.Agent
}

// ExecutorKey identifies an executor among those of all participants, which have their own ids.
func ExecutorKey(participant, id string) string { return participant + "\x00" + id }

// MeetsDemands reports whether labels include all demands.
func MeetsDemands(labels, demands map[string]string) bool {
	for k, v := range demands {
		if has, ok := labels[k]; !ok || has != v {
			return false
		}
	}
	return true
}

func applyChildStarted(s *State, e *parley.Event, sys *parley.System, size int) error {
	if sys.SessionID == "" || s.ChildIndex(sys.SessionID) >= 0 {
		return errors.New("session_started without a session, or of one that runs")
	}
	s.Children = append(slices.Clip(s.Children), Child{
		ID: sys.SessionID, By: sys.AgentID, Agent: sys.Agent, Mode: sys.Mode, Hops: e.Hops,
	})
	s.ActiveAt = e.At
	s.count(size) // else a participant could start any number of sessions
	return nil
}

func applyChildEnded(s *State, e *parley.Event, sys *parley.System) error {
	i, match := s.ChildIndex(sys.SessionID), s.MatchIndex(sys.SessionID)
	if i < 0 && match < 0 {
		return errors.New("session_ended of a session that does not run")
	}
	if i >= 0 {
		c := s.Children[i]
		s.Children = slices.Concat(s.Children[:i], s.Children[i+1:])
		if c.Mode == parley.ModeAsyncCallback {
			s.Callbacks = append(slices.Clip(s.Callbacks), EndedChild{
				ID: c.ID, By: c.By, Agent: c.Agent, Status: sys.Status, Hops: c.Hops,
			})
		}
	}
	if match >= 0 {
		s.dropMatches(func(m *Match) bool { return m.SessionID == sys.SessionID })
	}
	s.ActiveAt = e.At
	s.Passed = nil // participants may speak about the end of a session
	return nil
}

// applyBound assigns a session to a runner.
func applyBound(s *State, sys *parley.System) error {
	if s.Session == nil || s.Session.Runner != nil || sys.RunnerRef == nil || s.Claim != nil {
		return errors.New("session_bound where it cannot be")
	}
	r := *s.Session
	r.Runner = sys.RunnerRef
	s.Session = &r
	return nil
}

// applyCallback removes the sessions in a message of the hub from Callbacks. The participant that
// started them has the floor.
func applyCallback(s *State, e *parley.Event) error {
	type id struct {
		ID string `json:"child_session_id"`
	}
	var m struct{ Data struct{ Callbacks []id } }
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		return fmt.Errorf("callbacks of the hub: %w", err)
	}
	by, notified := "", m.Data.Callbacks
	var left []EndedChild
	for _, c := range s.Callbacks {
		switch {
		case !slices.Contains(notified, id{c.ID}):
			left = append(left, c)
			continue
		case by != "" && by != c.By:
			return fmt.Errorf("a callback to %s and %s", by, c.By)
		}
		by = c.By
	}
	if len(notified) == 0 || len(notified) != len(s.Callbacks)-len(left) {
		return errors.New("a callback of sessions that have not ended, or whose callback was sent before")
	}
	s.Callbacks, s.CallbackFor, s.CallbackHops, s.Passed = left, by, e.Hops, nil
	return nil
}

// maxProgressBytes bounds the progress that is kept.
const maxProgressBytes = 1 << 10

// recordProgress keeps the text of a trace that reports progress.
func (c *Sessions) recordProgress(e *parley.Event) {
	var t parley.Trace
	if json.Unmarshal(e.Payload, &t) != nil || t.Kind != "progress" || t.Text == "" {
		return
	}
	text := t.Text
	if len(text) > maxProgressBytes { // the last words are the newest
		text = text[len(text)-maxProgressBytes:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	c.Progress = &parley.SessionProgress{Seq: e.Seq, Text: text}
}

// decide adds that a session was started from this conversation. It does nothing if the log has that
// already.
func (a *StartChild) decide(d *decision) {
	c := a.Child
	if d.s.ChildIndex(c.ID) >= 0 {
		return
	}
	e := systemEvent(parley.System{
		Kind: parley.KindSessionStarted, SessionID: c.ID, AgentID: c.By, Agent: c.Agent, Mode: c.Mode,
	})
	if e.Hops = c.Hops; d.add(e) {
		d.closeAtLimit()
	}
}

// decide adds the end of a session, and the answer to the match that started it. It does nothing if the log has that
// already.
func (a *EndChild) decide(d *decision) {
	i, match := d.s.ChildIndex(a.SessionID), d.s.MatchIndex(a.SessionID)
	if i < 0 && match < 0 {
		return
	}
	e := systemEvent(parley.System{Kind: parley.KindSessionEnded, SessionID: a.SessionID, Status: a.Status})
	if i >= 0 {
		e.Hops = d.s.Children[i].Hops
	}
	var m Match
	if match >= 0 {
		m = d.s.Matches[match]
		e.Hops = m.Hops + 1
	}
	if d.add(e) && match >= 0 {
		a.addNote(d, &m)
	}
}

// decide assigns the session to the runner that it waited for.
func (a *Bind) decide(d *decision) {
	if r := d.s.Session; r == nil || r.Runner != nil {
		return
	}
	d.add(systemEvent(parley.System{Kind: parley.KindSessionBound, RunnerRef: a.Runner}))
}

// decide adds a message of the hub about the ended sessions of one participant that it was not
// notified of. It does nothing within a turn.
func (a *Callback) decide(d *decision) {
	by := d.s.CallbackRecipient()
	hops := 0
	var notified []parley.Callback
	for _, c := range a.Callbacks {
		i := slices.IndexFunc(d.s.Callbacks, func(p EndedChild) bool { return p.ID == c.ChildSessionID && p.By == by })
		if i >= 0 {
			notified = append(notified, c)
			hops = max(hops, d.s.Callbacks[i].Hops)
		}
	}
	if len(notified) == 0 {
		return
	}
	text := fmt.Sprintf("%d sessions of %s have ended.", len(notified), by)
	if len(notified) == 1 {
		text = fmt.Sprintf("The session %s of %s has ended: %s.", notified[0].ChildSessionID, by, notified[0].Status)
	}
	d.add(parley.Event{
		Turn: d.s.CurrentTurn(), Type: parley.TypeMessage, From: parley.HubID, Finality: parley.FinalityTurn,
		Hops: hops, Traceparent: d.c.Traceparent,
		Payload: eventdata.Encode(parley.Message{Text: text, Data: eventdata.Encode(parley.Callbacks{Callbacks: notified})}),
	})
}

// decide closes the session for the hub. It does nothing after the end of the session.
func (a *EndSession) decide(d *decision) { d.hubClose(a.Outcome, a.Detail) }

// CheckSession refuses a message of a participant, with these members in its payload, that does not
// fit the session or the conversation without a session.
func (c *Sessions) CheckSession(from string, f parley.Finality, parameters, result bool) error {
	r := c.Session
	switch {
	case parameters && (r == nil || from != r.Caller):
		return parley.Refuse(parley.ErrValidationFailed,
			"payload.parameters is only for the caller of a session, in its conversation", "text or data")
	case result && (r == nil || from != r.AgentID || f != parley.FinalityConversation):
		return parley.Refuse(parley.ErrValidationFailed,
			"payload.result is for the agent of a session, in the message that closes it", "text or data")
	case r.Deterministic() && from == r.AgentID && f == parley.FinalityTurn:
		return parley.Refuse(parley.ErrValidationFailed,
			"a deterministic agent ends its session with its turn", "finality conversation")
	}
	return nil
}

// checkSessionExecutor refuses executors that may not take the turns of a session.
func (d *decision) checkSessionExecutor(seat string) bool {
	r := d.s.Session
	if r == nil || r.AgentID != seat {
		return true
	}
	x := d.c.Executor
	switch {
	case r.Runner != nil && (x.ID != r.Runner.RunnerID || x.Owner != r.Runner.ParticipantID):
		d.refuse(parley.ErrForbidden,
			"the session belongs to another runner", fmt.Sprintf("the runner %s", policy.Clip(r.Runner.RunnerID)))
	case r.Runner == nil && r.OfRunner():
		d.refuse(parley.ErrForbidden, "the session waits for a runner", "")
	case r.Runner == nil && !MeetsDemands(x.Labels, r.Demands):
		d.refuse(parley.ErrForbidden,
			"the executor does not have the labels that the session demands", "its demands")
	default:
		return true
	}
	return false
}

// sessionOutcome returns how a session ends if the hub stops its turn for a reason.
func (d *decision) sessionOutcome(reason string) (parley.Outcome, string) {
	o := parley.Outcome{Status: parley.OutcomeFailed, Reason: reason}
	if ended := d.s.Ended; ended != nil && ended.Turn == d.s.CurrentTurn() {
		switch {
		case ended.Reason == parley.ClaimDisconnected, ended.Reason == parley.ClaimRestarted,
			ended.Reason == parley.ClaimExpired && ended.Lost: // and no executor claimed the turn again
			o.Reason = parley.ReasonInterrupted
			return o, interruptedText
		case ended.Reason == parley.ClaimExpired:
			o.Reason = parley.ReasonInterrupted
			return o, "The runner has not ended the session in time"
		}
	}
	if reason == parley.ReasonTurnTimeout {
		o.Reason = parley.ReasonNoRunner
		return o, noRunnerText
	}
	if r, ok := d.c.Do.(*Release); ok && r.Detail != "" {
		if r.Detail == interruptedText { // its runner reports that as it stops
			o.Reason = parley.ReasonInterrupted
		}
		return o, r.Detail
	}
	return o, closingTexts[reason]
}

// The texts for a session whose runner was lost (seed 000, section 11), and for one that no runner took.
const (
	interruptedText = "Runner disconnected during execution"
	noRunnerText    = "No matching runner available within timeout"
)

// NoRunner ends a session that no runner took in time. Interrupted ends a session whose runner was lost.
var (
	NoRunner    = EndSession{parley.Outcome{Status: parley.OutcomeFailed, Reason: parley.ReasonNoRunner}, noRunnerText}
	Interrupted = EndSession{
		parley.Outcome{Status: parley.OutcomeFailed, Reason: parley.ReasonInterrupted}, interruptedText,
	}
)

// sessionPayload returns the message with which the hub closes a session.
func sessionPayload(r *parley.SessionRecord, text string) parley.Message {
	kind := r.Type
	if !r.Deterministic() {
		kind = parley.AgentTypeAgent
	}
	return parley.Message{Text: text, Result: &parley.SessionResult{ResultType: kind, Error: text}}
}

// SessionStatus returns the status of a session.
func (s *State) SessionStatus() parley.SessionStatus {
	switch {
	case s.Closed():
		return s.Outcome.SessionStatus()
	case s.Claim != nil, s.AwaitsApproval():
		return parley.SessionRunning
	case s.Floor().Speaker == s.Session.Caller:
		return parley.SessionInputRequired
	}
	return parley.SessionPending
}
