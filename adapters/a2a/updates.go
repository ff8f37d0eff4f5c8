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

// takeOwn folds a message of the caller.
func (l *ledger) takeOwn(e *parley.Event, floor bool) (events []a2a.Event) {
	l.hear(e)
	p := payloadOf(e)
	if l.now != nil && p.MessageID != "" && p.TaskID == "" { // it has gone on without an answer
		events = append(events, l.end(e, a2a.TaskStateCanceled, nil))
	}
	begins := l.now == nil
	if begins {
		l.begin(e)
	}
	x := l.now
	said := x.answer() // before the caller's own words
	x.words = append(x.words, l.ownWords(e, &p))
	if p.AcceptedOutputModes != nil || begins {
		x.modes = p.AcceptedOutputModes
	}
	var moved []a2a.Event
	switch {
	case e.Closes():
		moved = l.close(e, said, nil)
	case e.Finality == parley.FinalityNone || floor && !l.anyone: // it has not finished, or nobody else was asked
		moved = []a2a.Event{x.move(e, a2a.TaskStateInputRequired, nil)}
	case begins:
		x.set(e, a2a.TaskStateSubmitted, nil)
	default:
		moved = []a2a.Event{x.move(e, a2a.TaskStateWorking, nil)}
	}
	if begins { // the task says it all
		return append(events, x.task(e.Seq))
	}
	return append(events, moved...)
}

// begin makes the task that a message of the caller begins.
func (l *ledger) begin(e *parley.Event) {
	x := &exchange{id: taskID(l.conversationID, e.Seq), contextID: l.contextID}
	l.all, l.byID[x.id], l.now = append(l.all, x), x, x
}

// end ends the live task.
func (l *ledger) end(e *parley.Event, state a2a.TaskState, m *a2a.Message) a2a.Event {
	u := l.now.move(e, state, m)
	l.now = nil
	return u
}

// takeAnswer folds a message of somebody else.
func (l *ledger) takeAnswer(e *parley.Event, floor bool) []a2a.Event {
	l.hear(e)
	x := l.now
	if x == nil {
		return nil
	}
	if e.Closes() && e.From == parley.HubID && outcomeOf(e) == parley.OutcomeCompleted {
		return l.close(e, x.answer(), nil) // what the hub says there is no answer
	}
	w := l.otherWords(e, x)
	x.words = append(x.words, w)
	switch {
	case e.Closes():
		return l.close(e, w, w)
	case e.Finality == parley.FinalityTurn && w.state.Terminal() && w.state != a2a.TaskStateCompleted:
		return []a2a.Event{l.end(e, w.state, w.message)}
	case e.Finality == parley.FinalityTurn && floor:
		return l.back(e, w)
	}
	return []a2a.Event{x.move(e, a2a.TaskStateWorking, w.message)}
}

// hear notes that somebody has spoken, after which nobody has passed.
func (l *ledger) hear(e *parley.Event) {
	if e.From == parley.HubID {
		return
	}
	if e.Turn != l.turn {
		l.heard, l.turn = max(l.heard, l.inTurn), e.Turn
	}
	l.inTurn = e.Seq
}

// back brings the floor back to the caller, after an answer.
func (l *ledger) back(e *parley.Event, w *words) []a2a.Event {
	x := l.now
	switch {
	case w.state == a2a.TaskStateInputRequired, w.state == a2a.TaskStateAuthRequired:
		return []a2a.Event{x.move(e, w.state, w.message)}
	case l.room && w.state != a2a.TaskStateCompleted:
		return append(x.give(e, w), x.move(e, a2a.TaskStateInputRequired, w.message))
	}
	return append(x.give(e, w), l.end(e, a2a.TaskStateCompleted, w.message))
}

// close ends the live task with its conversation. said is its last answer, and closing what others have said with the end; nil for nothing.
func (l *ledger) close(e *parley.Event, said, closing *words) []a2a.Event {
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
		m = l.hubSays(e, "The conversation is closed: "+e.Outcome.Reason)
	}
	var events []a2a.Event
	if said != nil && (state == a2a.TaskStateCompleted || said == closing && said.parts != nil) {
		events = l.now.give(e, said)
	}
	return append(events, l.end(e, state, m))
}

// outcomeOf says how an event closes its conversation.
func outcomeOf(e *parley.Event) parley.OutcomeStatus {
	if e.Outcome == nil {
		return parley.OutcomeCompleted
	}
	return e.Outcome.Status
}

// takeTrace tells of a trace. It changes nothing: not everybody sees traces, and a task is the same for all.
func (l *ledger) takeTrace(e *parley.Event) []a2a.Event {
	if l.now == nil || e.From == l.owner {
		return nil
	}
	trace, err := decode(e.Payload)
	if err != nil {
		return nil
	}
	u := l.now.update(e.Seq)
	u.Metadata[TraceExtension] = trace
	u.Metadata[AuthorExtension] = authorOf(e)
	return []a2a.Event{u}
}

// takeSystem folds a system event.
func (l *ledger) takeSystem(e *parley.Event, floor bool) []a2a.Event {
	s, err := e.System()
	if err != nil {
		return nil
	}
	if e.From != parley.HubID {
		if s.Kind == parley.KindNote && s.Schema == noteCanceled && e.From == l.owner {
			return l.takeCancel(e, &s)
		}
		return nil
	}
	switch s.Kind {
	case parley.KindConversationCreated:
		l.takeCreated(&s)
	case parley.KindParticipantAdded:
		if s.Participant != nil && s.Participant.ID != l.owner {
			l.passed[s.Participant.ID] = 0
		}
	case parley.KindTurnClaimed:
		return l.takeClaimed(e, &s)
	case parley.KindClaimEnded:
		return l.takeClaimEnded(e, &s)
	case parley.KindTurnEnded:
		return l.takeTurnEnded(e, &s, floor)
	}
	return nil
}

// takeCreated learns who takes part and how the floor goes.
func (l *ledger) takeCreated(s *parley.System) {
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
		l.first = about.A2A.MessageID
	}
}

func (l *ledger) takeCancel(e *parley.Event, s *parley.System) []a2a.Event {
	var about struct {
		TaskID a2a.TaskID `json:"taskId"`
	}
	if l.now == nil || json.Unmarshal(s.Data, &about) != nil || about.TaskID != l.now.id {
		return nil
	}
	return []a2a.Event{l.end(e, a2a.TaskStateCanceled, nil)}
}

func (l *ledger) takeClaimed(e *parley.Event, s *parley.System) []a2a.Event {
	if l.now == nil || s.AgentID == l.owner || l.now.status.State == a2a.TaskStateWorking {
		return nil
	}
	return []a2a.Event{l.now.move(e, a2a.TaskStateWorking, nil)}
}

// takeClaimEnded withdraws what was said under a claim that has failed. Its update says so to who has that already: "withdrawn" of its cursor are the first and last seq.
func (l *ledger) takeClaimEnded(e *parley.Event, s *parley.System) []a2a.Event {
	if s.ResetFrom != 0 && s.Turn == l.turn && l.inTurn >= s.ResetFrom {
		l.inTurn = 0
	}
	if l.now == nil || s.ResetFrom == 0 || !l.now.withdraw(s.Turn, s.ResetFrom) {
		return nil
	}
	m := l.now.status.Message
	if m != nil && !slices.ContainsFunc(l.now.words, func(w *words) bool { return w.message == m }) {
		m = nil
	}
	u := l.now.move(e, l.now.status.State, m)
	u.Metadata = map[string]any{CursorExtension: map[string]any{"seq": e.Seq, "withdrawn": []int64{s.ResetFrom, e.Seq}}}
	return []a2a.Event{u}
}

// takeTurnEnded folds the end of a turn without a final message. What was said in it stands.
func (l *ledger) takeTurnEnded(e *parley.Event, s *parley.System, floor bool) []a2a.Event {
	if _, takesPart := l.passed[s.AgentID]; takesPart {
		l.passed[s.AgentID] = e.Seq
	}
	x := l.now
	if x == nil || !floor || x.waits() {
		return nil
	}
	if w := x.answer(); w != nil {
		return l.back(e, w)
	}
	if s.AgentID == l.owner {
		return []a2a.Event{x.move(e, a2a.TaskStateInputRequired, nil)}
	}
	if l.anyone && !l.allPassed() {
		return nil
	}
	why := fmt.Sprintf("There was no answer: the turns of the others ended without a word. The last was that of %s, which was %s", s.AgentID, s.Reason)
	if s.Detail != "" {
		why += " (" + s.Detail + ")"
	}
	return []a2a.Event{l.end(e, a2a.TaskStateFailed, l.hubSays(e, why+"."))}
}

func (l *ledger) allPassed() bool {
	for _, at := range l.passed {
		if at <= max(l.heard, l.inTurn) {
			return false
		}
	}
	return true
}

// decode reads JSON with its numbers as they are.
func decode(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
