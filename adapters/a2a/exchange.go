package a2a

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// taskRecord is a task of the fold.
type taskRecord struct {
	id        a2a.TaskID
	contextID string
	modes     []string       // acceptedOutputModes of the last message of the caller
	messages  []*taskMessage // all messages in order; status.Message is one of them
	status    a2a.TaskStatus
	artifacts []*a2a.Artifact
	ended     int64 // seq of the event that ended it; 0 if it has not ended
}

// taskMessage is one message of a task.
type taskMessage struct {
	seq, turn int64
	byCaller  bool // by the caller
	message   *a2a.Message
	// For messages of others: the state that they name, whether they ask to be a message without a
	// task, and the parts of an artifact if they differ from those of message.
	state     a2a.TaskState
	asMessage bool
	parts     a2a.ContentParts
}

// artifactID returns the id of the artifact of a message.
func (w *taskMessage) artifactID() a2a.ArtifactID {
	return a2a.ArtifactID("artifact-" + strconv.FormatInt(w.seq, 10))
}

// waits reports whether the task waits for the caller.
func (x *taskRecord) waits() bool {
	return x.status.State == a2a.TaskStateInputRequired || x.status.State == a2a.TaskStateAuthRequired
}

// answer returns the last message of others after that of the caller, or nil.
func (x *taskRecord) answer() *taskMessage {
	if n := len(x.messages); n > 0 && !x.messages[n-1].byCaller {
		return x.messages[n-1]
	}
	return nil
}

// setStatus sets the next status of the task.
func (x *taskRecord) setStatus(e *parley.Event, state a2a.TaskState, m *a2a.Message) {
	at := e.At.Time()
	x.status = a2a.TaskStatus{State: state, Message: m, Timestamp: &at}
	if state.Terminal() {
		x.ended = e.Seq
	}
}

// updateStatus sets the status and returns the update.
func (x *taskRecord) updateStatus(e *parley.Event, state a2a.TaskState, m *a2a.Message) *a2a.TaskStatusUpdateEvent {
	x.setStatus(e, state, m)
	return x.statusUpdate(e.Seq)
}

// statusUpdate returns an update with the current status.
func (x *taskRecord) statusUpdate(seq int64) *a2a.TaskStatusUpdateEvent {
	return &a2a.TaskStatusUpdateEvent{TaskID: x.id, ContextID: x.contextID, Status: copyStatus(x.status),
		Metadata: cursorAt(seq)}
}

// addArtifact turns an answer into an artifact and returns its update. It returns nil if the
// artifact exists.
func (x *taskRecord) addArtifact(e *parley.Event, w *taskMessage) []a2a.Event {
	id := w.artifactID()
	if slices.ContainsFunc(x.artifacts, func(a *a2a.Artifact) bool { return a.ID == id }) {
		return nil
	}
	parts := w.parts
	if parts == nil {
		parts = w.message.Parts
	}
	a := &a2a.Artifact{ID: id, Parts: parts,
		Metadata: map[string]any{AuthorExtension: w.message.Metadata[AuthorExtension]}}
	x.artifacts = append(x.artifacts, a)
	return []a2a.Event{&a2a.TaskArtifactUpdateEvent{
		TaskID: x.id, ContextID: x.contextID, Artifact: copyArtifact(a), LastChunk: true, Metadata: cursorAt(e.Seq),
	}}
}

// withdraw removes the messages of a turn from a seq on, and reports whether there were any.
func (x *taskRecord) withdraw(turn, from int64) bool {
	n := len(x.messages)
	x.messages = slices.DeleteFunc(x.messages, func(w *taskMessage) bool { return w.turn == turn && w.seq >= from })
	return len(x.messages) < n
}

// task returns a copy.
func (x *taskRecord) task(seq int64) *a2a.Task {
	t := &a2a.Task{ID: x.id, ContextID: x.contextID, Status: copyStatus(x.status), Metadata: cursorAt(seq)}
	for _, w := range x.messages {
		if w.message != x.status.Message {
			t.History = append(t.History, copyMessage(w.message))
		}
	}
	for _, a := range x.artifacts {
		t.Artifacts = append(t.Artifacts, copyArtifact(a))
	}
	return t
}

func cursorAt(seq int64) map[string]any {
	return map[string]any{CursorExtension: map[string]any{"seq": seq}}
}

func copyStatus(s a2a.TaskStatus) a2a.TaskStatus {
	if s.Timestamp != nil {
		at := time.Time(*s.Timestamp)
		s.Timestamp = &at
	}
	s.Message = copyMessage(s.Message)
	return s
}

// copyMessage copies a message, except the targets of the parts and the metadata values, which no
// one modifies.
func copyMessage(m *a2a.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	c := *m
	c.Parts, c.Metadata = slices.Clone(m.Parts), maps.Clone(m.Metadata)
	c.Extensions, c.ReferenceTasks = slices.Clone(m.Extensions), slices.Clone(m.ReferenceTasks)
	return &c
}

func copyArtifact(a *a2a.Artifact) *a2a.Artifact {
	c := *a
	c.Parts, c.Metadata, c.Extensions = slices.Clone(a.Parts), maps.Clone(a.Metadata), slices.Clone(a.Extensions)
	return &c
}
