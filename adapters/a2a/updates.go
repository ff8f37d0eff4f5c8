package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// noteCanceled is the schema of the note with which a caller cancels its task: {"taskId": id}.
const noteCanceled = "a2a.task.canceled.v1"

// foldOwnMessage folds a message of the caller.
func (l *taskFold) foldOwnMessage(e *parley.Event, floor bool) (events []a2a.Event) {
	l.recordMessage(e)
	p := payloadOf(e)
	if l.current != nil && p.MessageID != "" && p.TaskID == "" { // the caller continues without an answer
		events = append(events, l.endTask(e, a2a.TaskStateCanceled, nil))
	}
	begins := l.current == nil
	if begins {
		l.beginTask(e)
	}
	x := l.current
	said := x.answer() // before the new message of the caller
	x.messages = append(x.messages, l.ownMessage(e, &p))
	if p.AcceptedOutputModes != nil || begins {
		x.modes = p.AcceptedOutputModes
	}
	var moved []a2a.Event
	switch {
	case e.Closes():
		moved = l.closeTask(e, said, nil)
	case e.Finality == parley.FinalityNone || floor && !l.anyone: // it has not finished, or no one else was asked
		moved = []a2a.Event{x.updateStatus(e, a2a.TaskStateInputRequired, nil)}
	case begins:
		x.setStatus(e, a2a.TaskStateSubmitted, nil)
	default:
		moved = []a2a.Event{x.updateStatus(e, a2a.TaskStateWorking, nil)}
	}
	if begins { // the task has the new status
		return append(events, x.task(e.Seq))
	}
	return append(events, moved...)
}

// beginTask creates the task that a message of the caller begins.
func (l *taskFold) beginTask(e *parley.Event) {
	x := &taskRecord{id: taskID(l.conversationID, e.Seq), contextID: l.contextID}
	l.all, l.byID[x.id], l.current = append(l.all, x), x, x
}

// endTask ends the live task.
func (l *taskFold) endTask(e *parley.Event, state a2a.TaskState, m *a2a.Message) a2a.Event {
	u := l.current.updateStatus(e, state, m)
	l.current = nil
	return u
}

// foldAnswer folds a message of another participant.
func (l *taskFold) foldAnswer(e *parley.Event, floor bool) []a2a.Event {
	l.recordMessage(e)
	x := l.current
	if x == nil {
		return nil
	}
	if e.Closes() && e.From == parley.HubID && outcomeOf(e) == parley.OutcomeCompleted {
		return l.closeTask(e, x.answer(), nil) // the closing message of the hub is no answer
	}
	w := l.otherMessage(e, x)
	x.messages = append(x.messages, w)
	switch {
	case e.Closes():
		return l.closeTask(e, w, w)
	case e.Finality == parley.FinalityTurn && w.state.Terminal() && w.state != a2a.TaskStateCompleted:
		return []a2a.Event{l.endTask(e, w.state, w.message)}
	case e.Finality == parley.FinalityTurn && floor:
		return l.returnFloor(e, w)
	}
	return []a2a.Event{x.updateStatus(e, a2a.TaskStateWorking, w.message)}
}

// recordMessage records that a participant posted, so that earlier turns without a message do not
// count.
func (l *taskFold) recordMessage(e *parley.Event) {
	if e.From == parley.HubID {
		return
	}
	if e.Turn != l.turn {
		l.lastBefore, l.turn = max(l.lastBefore, l.lastInTurn), e.Turn
	}
	l.lastInTurn = e.Seq
}

// returnFloor sets the status after an answer when the caller has the floor again.
func (l *taskFold) returnFloor(e *parley.Event, w *taskMessage) []a2a.Event {
	x := l.current
	switch {
	case w.state == a2a.TaskStateInputRequired, w.state == a2a.TaskStateAuthRequired:
		return []a2a.Event{x.updateStatus(e, w.state, w.message)}
	case l.room && w.state != a2a.TaskStateCompleted:
		return append(x.addArtifact(e, w), x.updateStatus(e, a2a.TaskStateInputRequired, w.message))
	}
	return append(x.addArtifact(e, w), l.endTask(e, a2a.TaskStateCompleted, w.message))
}

// closeTask ends the live task with its conversation. said is its last answer. closing is the
// closing message of another participant, or nil.
func (l *taskFold) closeTask(e *parley.Event, said, closing *taskMessage) []a2a.Event {
	state, m := a2a.TaskStateCompleted, (*a2a.Message)(nil)
	switch outcomeOf(e) {
	case parley.OutcomeFailed:
		state = a2a.TaskStateFailed
	case parley.OutcomeCanceled:
		state = a2a.TaskStateCanceled
	}
	if closing != nil {
		m = closing.message
		if s := closing.state; s == a2a.TaskStateRejected || s == a2a.TaskStateFailed {
			state = s
		}
	} else if said != nil && state == a2a.TaskStateCompleted {
		m = said.message
	} else if e.Outcome != nil && e.Outcome.Reason != "" {
		m = l.hubMessage(e, "The conversation is closed: "+e.Outcome.Reason)
	}
	var events []a2a.Event
	if said != nil && (state == a2a.TaskStateCompleted || said == closing && said.parts != nil) {
		events = l.current.addArtifact(e, said)
	}
	return append(events, l.endTask(e, state, m))
}

// outcomeOf returns the outcome with which an event closes its conversation.
func outcomeOf(e *parley.Event) parley.OutcomeStatus {
	if e.Outcome == nil {
		return parley.OutcomeCompleted
	}
	return e.Outcome.Status
}

// foldTrace returns the update for a trace. It changes nothing, because not every caller sees
// traces, and a task is the same for all.
func (l *taskFold) foldTrace(e *parley.Event) []a2a.Event {
	if l.current == nil || e.From == l.owner {
		return nil
	}
	trace, err := decode(e.Payload)
	if err != nil {
		return nil
	}
	u := l.current.statusUpdate(e.Seq)
	u.Metadata[TraceExtension] = trace
	u.Metadata[AuthorExtension] = authorOf(e)
	return []a2a.Event{u}
}

// foldSystem folds a system event.
func (l *taskFold) foldSystem(e *parley.Event, floor bool) []a2a.Event {
	s, err := e.System()
	if err != nil {
		return nil
	}
	if e.From != parley.HubID {
		if s.Kind == parley.KindNote && s.Schema == noteCanceled && e.From == l.owner {
			return l.foldCancel(e, &s)
		}
		return nil
	}
	switch s.Kind {
	case parley.KindConversationCreated:
		l.foldCreated(&s)
	case parley.KindParticipantAdded:
		if s.Participant != nil && s.Participant.ID != l.owner {
			l.passed[s.Participant.ID] = 0
		}
	case parley.KindTurnClaimed:
		return l.foldClaimed(e, &s)
	case parley.KindClaimEnded:
		return l.foldClaimEnded(e, &s)
	case parley.KindTurnEnded:
		return l.foldTurnEnded(e, &s, floor)
	}
	return nil
}

// foldCreated records the participants and the policy.
func (l *taskFold) foldCreated(s *parley.System) {
	l.anyone = s.Policy != nil && s.Policy.Kind == parley.PolicyOpen
	for _, p := range s.Participants {
		if p.ID != l.owner {
			l.passed[p.ID] = 0
		}
	}
	var about struct {
		A2A struct {
			MessageID string `json:"messageId"`
		} `json:"a2a"`
	}
	if s.Session != nil && len(s.Metadata) > 0 && json.Unmarshal(s.Metadata, &about) == nil {
		l.firstID = about.A2A.MessageID
	}
}

func (l *taskFold) foldCancel(e *parley.Event, s *parley.System) []a2a.Event {
	var about struct {
		TaskID a2a.TaskID `json:"taskId"`
	}
	if l.current == nil || json.Unmarshal(s.Data, &about) != nil || about.TaskID != l.current.id {
		return nil
	}
	return []a2a.Event{l.endTask(e, a2a.TaskStateCanceled, nil)}
}

func (l *taskFold) foldClaimed(e *parley.Event, s *parley.System) []a2a.Event {
	if l.current == nil || s.AgentID == l.owner || l.current.status.State == a2a.TaskStateWorking {
		return nil
	}
	return []a2a.Event{l.current.updateStatus(e, a2a.TaskStateWorking, nil)}
}

// foldClaimEnded withdraws the messages of a failed claim. Its update reports them to readers that
// have them: "withdrawn" of its cursor has the first and the last seq.
func (l *taskFold) foldClaimEnded(e *parley.Event, s *parley.System) []a2a.Event {
	if s.ResetFrom != 0 && s.Turn == l.turn && l.lastInTurn >= s.ResetFrom {
		l.lastInTurn = 0
	}
	if l.current == nil || s.ResetFrom == 0 || !l.current.withdraw(s.Turn, s.ResetFrom) {
		return nil
	}
	m := l.current.status.Message
	if m != nil && !slices.ContainsFunc(l.current.messages, func(w *taskMessage) bool { return w.message == m }) {
		m = nil
	}
	u := l.current.updateStatus(e, l.current.status.State, m)
	u.Metadata = map[string]any{CursorExtension: map[string]any{"seq": e.Seq, "withdrawn": []int64{s.ResetFrom, e.Seq}}}
	return []a2a.Event{u}
}

// foldTurnEnded folds the end of a turn without a final message. The messages of the turn remain.
func (l *taskFold) foldTurnEnded(e *parley.Event, s *parley.System, floor bool) []a2a.Event {
	if _, takesPart := l.passed[s.AgentID]; takesPart {
		l.passed[s.AgentID] = e.Seq
	}
	x := l.current
	if x == nil || !floor || x.waits() {
		return nil
	}
	if w := x.answer(); w != nil {
		return l.returnFloor(e, w)
	}
	if s.AgentID == l.owner {
		return []a2a.Event{x.updateStatus(e, a2a.TaskStateInputRequired, nil)}
	}
	if l.anyone && !l.allPassed() {
		return nil
	}
	why := fmt.Sprintf("There was no answer: all other turns ended without a message. The last was that of %s, which "+
		"was %s", s.AgentID, s.Reason)
	if s.Detail != "" {
		why += " (" + s.Detail + ")"
	}
	return []a2a.Event{l.endTask(e, a2a.TaskStateFailed, l.hubMessage(e, why+"."))}
}

func (l *taskFold) allPassed() bool {
	for _, at := range l.passed {
		if at <= max(l.lastBefore, l.lastInTurn) {
			return false
		}
	}
	return true
}

// decode parses JSON and keeps the digits of numbers.
func decode(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
