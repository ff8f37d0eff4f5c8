package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// maxFailures limits the consecutive failures to reach a peer while waiting for a task.
const maxFailures = 10

// exchange is the work on one turn. It belongs to one goroutine.
type exchange struct {
	*Agent
	turn   *parley.Turn
	peer   *Peer
	memory *memory
	parts  a2a.ContentParts // to be sent

	taskID    a2a.TaskID
	contextID string
	state     a2a.TaskState
	settled   bool // the task ended, waits for input, or the answer was a message
	continues bool // the message was sent to an open task, whose earlier state may still be reported
	heard     int  // number of events
	at        place
	traces    int
	answer    *answer
}

// isSettled reports whether the task needs no more waiting.
func isSettled(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// run gets an answer: from the task of an earlier attempt if there is one, otherwise by sending the
// message.
func (x *exchange) run(ctx context.Context) error {
	variant := ""
	if b := x.memory.begun; b != nil {
		x.taskID, x.contextID, x.answer.told = b.TaskID, b.ContextID, x.memory.link.Told
		err := x.resume(ctx)
		switch {
		case err == nil && x.state != a2a.TaskStateCanceled:
			return nil
		case err != nil && !errors.Is(err, ErrTaskLost):
			return err
		}
		variant = string(b.TaskID) // the task is over or never existed, so this is another message
		x.reset()
	}
	if len(x.parts) == 0 {
		return fmt.Errorf("%w, and there is no new message", ErrTaskLost)
	}
	return x.send(ctx, variant)
}

// reset discards the received events.
func (x *exchange) reset() {
	x.taskID, x.contextID, x.state, x.settled, x.continues, x.at, x.answer = "", "", "", false, false, place{}, newAnswer()
}

// resume continues the task of an earlier attempt.
func (x *exchange) resume(ctx context.Context) error {
	t, err := x.peer.get(ctx, x.taskID)
	switch {
	case errors.Is(err, a2a.ErrTaskNotFound):
		return ErrTaskLost
	case err != nil && isRefusal(err):
		return err
	case err == nil:
		if _, err := x.take(ctx, t); err != nil || x.settled {
			return err
		}
	}
	return x.follow(ctx)
}

// reference is the task and the context of a message.
type reference struct {
	taskID    a2a.TaskID
	contextID string
}

// send sends the message to the open task, otherwise into the context. If the peer refuses a
// reference that it no longer knows, the next try omits it.
func (x *exchange) send(ctx context.Context, variant string) error {
	l := x.memory.link
	tries := []reference{{contextID: l.ContextID}, {}}
	if l.waits() && safeID(l.TaskID) {
		tries = slices.Insert(tries, 0, reference{l.TaskID, l.ContextID})
	}
	tries = slices.Compact(tries)
	for i, ref := range tries {
		err := x.offer(ctx, ref, fmt.Sprint(variant, "\x00", ref.taskID, "\x00", ref.contextID))
		if err == nil || i == len(tries)-1 || x.heard > 0 || !isStale(err) {
			return err
		}
		x.log.Info("the remote agent refused an earlier task or context; sending the message without it", "task", ref.taskID, "context",
			ref.contextID, "error", err)
		x.reset()
	}
	return nil
}

// isStale reports whether a message may have been refused because of its reference.
func isStale(err error) bool {
	return errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, a2a.ErrUnsupportedOperation) ||
		errors.Is(err, a2a.ErrInvalidParams) || errors.Is(err, a2a.ErrInvalidRequest)
}

// offer sends the message once, and waits for the answer.
func (x *exchange) offer(ctx context.Context, ref reference, variant string) error {
	x.taskID, x.contextID, x.continues = ref.taskID, ref.contextID, ref.taskID != ""
	x.answer.told = x.memory.link.Told
	q := &a2a.SendMessageRequest{
		Message: &a2a.Message{ID: x.messageID(variant), Role: a2a.MessageRoleUser, Parts: x.parts, TaskID: ref.taskID,
			ContextID: ref.contextID},
		Config: &a2a.SendMessageConfig{ReturnImmediately: !x.peer.streams() && !x.continues},
	}
	if !x.peer.streams() {
		return x.sendPlain(ctx, q)
	}
	err := x.listen(ctx, x.peer.client.SendStreamingMessage(withPlace(ctx, &x.at), q))
	switch {
	case x.settled:
		return nil
	case x.heard == 0 && (errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrMethodNotFound)) &&
		ref.taskID == "":
		return x.sendPlain(ctx, q) // the card offers streaming, but the peer does not support it
	case x.heard == 0 && err == nil:
		return fmt.Errorf("%w: a stream without an event", ErrGarbage)
	case x.heard == 0 || x.taskID == "" || !mayFollow(err):
		return err
	}
	return x.follow(ctx)
}

// mayFollow reports whether to continue after a stream ended with err, which may be nil. A broken
// connection, and an error that the peer sent in the stream, do not end the task.
func mayFollow(err error) bool { return err == nil || errors.Is(err, ErrUnreachable) || isRefusal(err) }

// sendPlain sends the message without a stream.
func (x *exchange) sendPlain(ctx context.Context, q *a2a.SendMessageRequest) error {
	r, err := caught(func() (a2a.SendMessageResult, error) { return x.peer.client.SendMessage(ctx, q) })
	if err != nil {
		return err
	}
	if _, err := x.take(ctx, r); err != nil || x.settled {
		return err
	}
	return x.follow(ctx)
}

// listen handles the events of a stream until the task settles.
func (x *exchange) listen(ctx context.Context, stream func(func(a2a.Event, error) bool)) error {
	err := each(stream, func(e a2a.Event) (bool, error) { return x.take(ctx, e) })
	if cause := context.Cause(ctx); cause != nil && !x.settled {
		return cause
	}
	return err
}

// follow waits for the open task after a broken stream, or without streaming. It subscribes,
// otherwise polls, with growing pauses, until the task settles.
func (x *exchange) follow(ctx context.Context) error {
	wait, failures := x.opts.MinPoll, 0
	streams := x.peer.streams()
	for {
		if streams {
			before := x.heard
			err := x.listen(ctx, x.peer.client.SubscribeToTask(withPlace(ctx, &x.at), &a2a.SubscribeToTaskRequest{ID: x.taskID}))
			if !mayFollow(err) {
				return err
			}
			streams = err == nil || !errors.Is(err, a2a.ErrMethodNotFound)
			if x.heard > before+1 { // more than the snapshot
				wait = x.opts.MinPoll
			}
		}
		// Events may be missed between two streams, so the task itself is read at the end.
		t, err := x.peer.get(ctx, x.taskID)
		switch {
		case errors.Is(err, a2a.ErrTaskNotFound):
			return ErrTaskLost
		case err != nil && x.settled:
			return nil
		case err != nil && (isRefusal(err) || !errors.Is(err, ErrUnreachable)) && ctx.Err() == nil:
			return err
		case err != nil:
			failures++
		default:
			failures, x.continues, x.settled = 0, false, false
			if _, err := x.take(ctx, t); err != nil || x.settled {
				return err
			}
		}
		if failures >= maxFailures {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, x.opts.MaxPoll)
	}
}

// pause sleeps for d. If ctx ends before, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take handles one event. more is true until the task settles.
func (x *exchange) take(ctx context.Context, e a2a.Event) (more bool, err error) {
	if x.heard++; x.heard > MaxUpdates {
		return false, fmt.Errorf("%w: more than %d events", ErrTooLarge, MaxUpdates)
	}
	switch e := e.(type) {
	case *a2a.Message:
		return x.takeMessage(ctx, e)
	case *a2a.Task:
		return x.takeTask(ctx, e)
	case *a2a.TaskStatusUpdateEvent:
		if err := x.meet(ctx, e.TaskID, e.ContextID); err != nil {
			return false, err
		}
		return x.takeStatus(ctx, &e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		if err := x.meet(ctx, e.TaskID, e.ContextID); err != nil {
			return false, err
		}
		return true, x.answer.update(e)
	}
	return false, fmt.Errorf("%w: event of an unknown kind", ErrGarbage)
}

// takeMessage handles an answer without a task. A message among the events of a task is progress.
func (x *exchange) takeMessage(ctx context.Context, m *a2a.Message) (bool, error) {
	if x.taskID != "" && !x.continues {
		x.progress(ctx, m)
		return true, nil
	}
	if m.ContextID != "" {
		x.contextID = m.ContextID
	}
	x.taskID, x.state, x.settled = "", a2a.TaskStateCompleted, true
	x.answer.message = m
	return false, nil
}

// takeTask handles a snapshot of the task.
func (x *exchange) takeTask(ctx context.Context, t *a2a.Task) (bool, error) {
	if err := x.meet(ctx, t.ID, t.ContextID); err != nil {
		return false, err
	}
	if err := x.answer.replace(t.Artifacts); err != nil {
		return false, err
	}
	if x.continues && x.heard == 1 && isSettled(t.Status.State) && !t.Status.State.Terminal() && x.peer.streams() {
		return true, nil // the state before the message
	}
	return x.takeStatus(ctx, &t.Status)
}

func (x *exchange) takeStatus(ctx context.Context, s *a2a.TaskStatus) (bool, error) {
	x.state, x.settled = s.State, isSettled(s.State)
	x.answer.message = s.Message
	if !x.settled {
		x.progress(ctx, s.Message)
	}
	return !x.settled, nil
}

// meet checks that an event belongs to the task of this turn, and records new ids in the log.
func (x *exchange) meet(ctx context.Context, id a2a.TaskID, contextID string) error {
	switch {
	case !safeID(id):
		return fmt.Errorf("%w: event without a task id", ErrGarbage)
	case x.taskID != "" && x.taskID != id:
		return fmt.Errorf("%w: %.100q instead of %.100q", ErrForeignTask, id, x.taskID)
	case len(contextID) > 512:
		return fmt.Errorf("%w: context id with %d bytes", ErrTooLarge, len(contextID))
	}
	if contextID != "" {
		x.contextID = contextID
	}
	known := x.memory.begun != nil && x.memory.begun.TaskID == id
	x.taskID = id
	if known {
		return nil
	}
	l := link{ContextID: x.contextID, TaskID: id, Peer: x.name}
	x.memory.begun = &l
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	// Without the trace, the next attempt finds the task by the id of its message.
	if err := x.trace(ctx, parley.Trace{Kind: TraceTask, Data: data}); err != nil {
		x.log.Warn("recording the task of the remote agent failed", "task", id, "error", err)
	}
	return nil
}

// progress writes a trace with a message before the end of the task.
func (x *exchange) progress(ctx context.Context, m *a2a.Message) {
	if m == nil || x.traces >= MaxProgress {
		return
	}
	text := clip(textOf(m.Parts), MaxProgressBytes)
	if strings.TrimSpace(text) == "" || text == x.answer.progress {
		return
	}
	x.traces++
	x.answer.progress = text
	if err := x.trace(ctx, parley.Trace{Kind: TraceProgress, Text: text}); err != nil {
		x.log.Debug("writing the progress failed", "error", err)
	}
}
