package a2a

import (
	"bytes"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// ledger folds the log of one conversation into the tasks of one caller. It is pure: the same events give the same tasks and the same updates, whoever asks and when.
//
// What begins a task: a message of the caller while none is live, or one that came over A2A without a taskId. (Then a task that was live, which needed input, is canceled:
// its caller has gone on.) Any other message of the caller goes on with the live task. What others say while no task is live belongs to none.
//
// The states, after an event while a task is live:
//
//	the caller has spoken, nobody else has the turn yet       SUBMITTED for a new task, else WORKING
//	... and has the floor still, or again (under the policy    INPUT_REQUIRED, without words: nobody else was asked
//	open everybody has it, which is not that)
//	another has claimed the turn, or said something            WORKING; what was said travels as status.message
//	the floor is back at the caller after an answer            COMPLETED, the last answer as status.message and as an artifact; in a room INPUT_REQUIRED,
//	                                                           but for an answer whose state is completed
//	... and the answer has tag input_required, or its state     INPUT_REQUIRED, also outside a room, and no artifact
//	is input-required (auth-required: AUTH_REQUIRED)
//	another has ended its turn with state rejected or failed   REJECTED, FAILED; also before the floor is back
//	the floor is back at the caller without an answer          FAILED, saying why: the turns of the others ended without a word (under open: those of all)
//	the caller's note a2a.task.canceled.v1 names the task      CANCELED
//	the conversation is closed                                 COMPLETED, FAILED or CANCELED, as its outcome; words of the closing message count as an answer,
//	                                                           but for those of the hub when it is completed
//
// An answer is what others have said last since the caller spoke: also words of a turn that was passed on later. Under open the floor is back with the first final message.
// The result of a session is an artifact also where it has failed; its error is status.message.
//
// All that was said in a task is its history, in the order of the log, but for what is status.message: that moves there when another status comes. Streams do not tell the
// caller what it has said itself.
//
// Events of a claim that was reset (resetFrom) are withdrawn: what they said is no part of the history, nor an answer. A stream that has sent them is told by an update whose
// cursor has "withdrawn": the first and the last seq. After a terminal state nothing changes a task, and its cursor stays at its end.
//
// Traces change nothing, since not everybody sees them.
type ledger struct {
	owner          string // the caller
	room           bool
	conversationID string
	contextID      string
	seq            int64 // of the last event that was taken

	anyone bool             // the policy is open: the floor is at the caller whenever no turn is
	passed map[string]int64 // the other participants, and when a turn of theirs last ended without a final message
	turn   int64            // that of the last message of a participant
	heard  int64            // the seq of the last one before that turn, and
	inTurn int64            // of the last one in it
	first  string           // the messageId of a message that the hub has written for the caller: that which begins a session

	all  []*exchange
	byID map[a2a.TaskID]*exchange
	now  *exchange // the live task, if there is one
}

// newLedger begins before the first event.
func newLedger(owner string, room bool, conversationID, contextID string) *ledger {
	return &ledger{
		owner: owner, room: room, conversationID: conversationID, contextID: contextID,
		passed: make(map[string]int64), byID: make(map[a2a.TaskID]*exchange),
	}
}

// asks reports whether take needs to know who has the floor after e.
func (l *ledger) asks(e *parley.Event) bool {
	if e.Seq <= l.seq {
		return false
	}
	switch e.Type {
	case parley.TypeMessage:
		return e.Finality == parley.FinalityTurn && (l.now != nil || e.From == l.owner)
	case parley.TypeSystem:
		return l.now != nil && e.From == parley.HubID && bytes.Contains(e.Payload, []byte(parley.KindTurnEnded))
	}
	return false
}

// take folds the next event and gives the updates that it brings, ids included; floor says whether the caller may speak after it. The event that begins a task gives that task.
// An event that was taken before brings nothing. Traces are given always, as updates that have TraceExtension in their metadata and repeat the status: the caller of take drops
// them where they are not asked for.
func (l *ledger) take(e *parley.Event, floor bool) []update {
	if e.Seq <= l.seq {
		return nil
	}
	l.seq = e.Seq
	var events []a2a.Event
	switch e.Type {
	case parley.TypeMessage:
		if e.From == l.owner {
			events = l.takeOwn(e, floor)
		} else {
			events = l.takeAnswer(e, floor)
		}
	case parley.TypeTrace:
		events = l.takeTrace(e)
	case parley.TypeSystem:
		events = l.takeSystem(e, floor)
	}
	return number(e.Seq, events)
}

// number gives the updates of one record their ids.
func number(seq int64, events []a2a.Event) []update {
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

// task gives a copy of a task as it stands, with its whole history; nil if there is none.
func (l *ledger) task(id a2a.TaskID) *a2a.Task {
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

// tasks gives the ids of all, in order of their beginning.
func (l *ledger) tasks() []a2a.TaskID {
	ids := make([]a2a.TaskID, len(l.all))
	for i, x := range l.all {
		ids[i] = x.id
	}
	return ids
}

// live is the task that has not ended, if there is one, and whether it waits for the caller.
func (l *ledger) live() (id a2a.TaskID, waits bool) {
	if l.now == nil {
		return "", false
	}
	return l.now.id, l.now.waits()
}

// modes are the acceptedOutputModes of the request that last spoke to a task: for resolve.
func (l *ledger) modes(id a2a.TaskID) []string {
	if x := l.byID[id]; x != nil {
		return x.modes
	}
	return nil
}

// bare is the answer of a task that has completed with one that wants to be a message and no task; nil for any other.
func (l *ledger) bare(id a2a.TaskID) *a2a.Message {
	x := l.byID[id]
	if x == nil || x.status.State != a2a.TaskStateCompleted {
		return nil
	}
	w := x.answer()
	if w == nil || !w.bare || w.message != x.status.Message {
		return nil
	}
	m := copyMessage(w.message)
	m.TaskID = ""
	return m
}
