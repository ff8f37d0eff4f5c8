package a2a

import (
	"bytes"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// taskFold folds the log of one conversation into the tasks of one caller. It is pure: the same
// events result in the same tasks and updates.
//
// A task begins with a message of the caller while no task is live, or with one that came over A2A
// without a taskId. In the second case, a live task that needed input is canceled. Any other
// message of the caller continues the live task. Messages of others while no task is live belong to
// no task.
//
// The states after an event while a task is live:
//
//	the caller posted, and no one else has the turn yet        SUBMITTED for a new task,
//	                                                           otherwise WORKING
//	the caller posted and still has the floor, or has it       INPUT_REQUIRED without a message,
//	again (except under the policy open, where everyone has    because no one else was asked
//	the floor)
//	another participant claimed the turn or posted             WORKING; the message is
//	                                                           status.message
//	the caller has the floor after an answer                   COMPLETED; the last answer is
//	                                                           status.message and an artifact.
//	                                                           In a room INPUT_REQUIRED, unless the
//	                                                           state of the answer is completed
//	... and the answer has the tag input_required or the       INPUT_REQUIRED or AUTH_REQUIRED
//	state input-required or auth-required                      without an artifact, in any case
//	another participant ended its turn with the state          REJECTED or FAILED, also if the
//	rejected or failed                                         caller does not have the floor
//	the caller has the floor without an answer                 FAILED with the reason: the turns of
//	                                                           the others ended without a message
//	                                                           (under open: of all others)
//	the note a2a.task.canceled.v1 of the caller names the task CANCELED
//	the conversation is closed                                 COMPLETED, FAILED or CANCELED by its
//	                                                           outcome. The closing message is an
//	                                                           answer, except one of the hub with
//	                                                           the outcome completed
//
// An answer is the last message of others after that of the caller, also one of a turn that was
// yielded later. Under open, the first final message returns the floor. The result of a session is
// an artifact even if the session failed; its error is status.message.
//
// The history has all messages of a task in the order of the log, except status.message, which
// moves to the history with the next status. Streams do not repeat the messages of the caller.
//
// Events of a claim that was reset (resetFrom) are withdrawn: their messages are neither history
// nor an answer. A stream that has sent them sends an update whose cursor has "withdrawn", the
// first and the last seq. After a terminal state nothing changes a task, and its cursor stays at
// its end.
//
// Traces change nothing, because not every caller can see them.
type taskFold struct {
	owner          string // the caller
	room           bool
	conversationID string
	contextID      string
	seq            int64 // seq of the last folded event

	anyone     bool             // the policy is open: the caller has the floor whenever no turn is taken
	passed     map[string]int64 // for each other participant, when its last turn ended without a final message
	turn       int64            // turn of the last message of a participant
	lastBefore int64            // seq of the last message before that turn
	lastInTurn int64            // seq of the last message in that turn
	firstID    string           // messageId for the first message of a session, which the hub writes for the caller

	all     []*taskRecord
	byID    map[a2a.TaskID]*taskRecord
	current *taskRecord // the live task, or nil
}

// newTaskFold returns the state before the first event.
func newTaskFold(owner string, room bool, conversationID, contextID string) *taskFold {
	return &taskFold{
		owner: owner, room: room, conversationID: conversationID, contextID: contextID,
		passed: make(map[string]int64), byID: make(map[a2a.TaskID]*taskRecord),
	}
}

// needsFloor reports whether fold needs to know who has the floor after e.
func (l *taskFold) needsFloor(e *parley.Event) bool {
	if e.Seq <= l.seq {
		return false
	}
	switch e.Type {
	case parley.TypeMessage:
		return e.Finality == parley.FinalityTurn && (l.current != nil || e.From == l.owner)
	case parley.TypeSystem:
		return l.current != nil && e.From == parley.HubID && bytes.Contains(e.Payload, []byte(parley.KindTurnEnded))
	}
	return false
}

// fold folds the next event and returns its updates with ids. floor reports whether the caller may
// speak after the event. The event that begins a task returns that task. An event that was folded
// before returns nothing. Traces are returned as updates with TraceExtension in their metadata and
// the current status; the caller of fold drops them if they are not requested.
func (l *taskFold) fold(e *parley.Event, floor bool) []update {
	if e.Seq <= l.seq {
		return nil
	}
	l.seq = e.Seq
	var events []a2a.Event
	switch e.Type {
	case parley.TypeMessage:
		if e.From == l.owner {
			events = l.foldOwnMessage(e, floor)
		} else {
			events = l.foldAnswer(e, floor)
		}
	case parley.TypeTrace:
		events = l.foldTrace(e)
	case parley.TypeSystem:
		events = l.foldSystem(e, floor)
	}
	return numberUpdates(e.Seq, events)
}

// numberUpdates returns the updates of one event with their ids.
func numberUpdates(seq int64, events []a2a.Event) []update {
	var all []update
	for i, e := range events {
		id := strconv.FormatInt(seq, 10)
		if i < len(events)-1 {
			id += "." + strconv.Itoa(i+1)
		}
		all = append(all, update{id, e})
	}
	return all
}

// task returns a copy of a task with its whole history, or nil.
func (l *taskFold) task(id a2a.TaskID) *a2a.Task {
	x := l.byID[id]
	if x == nil {
		return nil
	}
	seq := l.seq
	if x.ended != 0 {
		seq = x.ended
	}
	return x.task(seq)
}

// tasks returns the ids of all tasks in the order of their first messages.
func (l *taskFold) tasks() []a2a.TaskID {
	ids := make([]a2a.TaskID, len(l.all))
	for i, x := range l.all {
		ids[i] = x.id
	}
	return ids
}

// liveTask returns the task that has not ended, if there is one, and whether it waits for the
// caller.
func (l *taskFold) liveTask() (id a2a.TaskID, waits bool) {
	if l.current == nil {
		return "", false
	}
	return l.current.id, l.current.waits()
}

// modes returns the acceptedOutputModes of the last request for a task, for resolve.
func (l *taskFold) modes(id a2a.TaskID) []string {
	if x := l.byID[id]; x != nil {
		return x.modes
	}
	return nil
}

// messageAnswer returns the answer of a completed task that asks to be a message without a task. It
// returns nil for other tasks.
func (l *taskFold) messageAnswer(id a2a.TaskID) *a2a.Message {
	x := l.byID[id]
	if x == nil || x.status.State != a2a.TaskStateCompleted {
		return nil
	}
	w := x.answer()
	if w == nil || !w.asMessage || w.message != x.status.Message {
		return nil
	}
	m := copyMessage(w.message)
	m.TaskID = ""
	return m
}
