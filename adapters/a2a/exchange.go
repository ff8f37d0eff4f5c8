package a2a

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// exchange is a task as the ledger keeps it.
type exchange struct {
	id        a2a.TaskID
	contextID string
	modes     []string // acceptedOutputModes of who spoke to it last
	words     []*words // all that was said, in order; status.Message is one of them
	status    a2a.TaskStatus
	artifacts []*a2a.Artifact
	ended     int64 // the seq of the event that ended it; 0 while it lives
}

// words are what was said in one event.
type words struct {
	seq, turn int64
	own       bool // by the caller
	message   *a2a.Message
	// For those of others: the state that they name, whether they want to be a message and no task, and the parts of an artifact where these are not those of message.
	state a2a.TaskState
	bare  bool
	parts a2a.ContentParts
}

// artifactID is where the words stand as an artifact.
func (w *words) artifactID() a2a.ArtifactID {
	return a2a.ArtifactID("artifact-" + strconv.FormatInt(w.seq, 10))
}

// waits reports whether the caller is to speak.
func (x *exchange) waits() bool {
	return x.status.State == a2a.TaskStateInputRequired || x.status.State == a2a.TaskStateAuthRequired
}

// answer is what others have said last since the caller spoke; nil for nothing.
func (x *exchange) answer() *words {
	if n := len(x.words); n > 0 && !x.words[n-1].own {
		return x.words[n-1]
	}
	return nil
}

// set gives the task its next status.
func (x *exchange) set(e *parley.Event, state a2a.TaskState, m *a2a.Message) {
	at := e.At.Time()
	x.status = a2a.TaskStatus{State: state, Message: m, Timestamp: &at}
	if state.Terminal() {
		x.ended = e.Seq
	}
}

// move is set that gives the update.
func (x *exchange) move(e *parley.Event, state a2a.TaskState, m *a2a.Message) *a2a.TaskStatusUpdateEvent {
	x.set(e, state, m)
	return x.update(e.Seq)
}

// update tells the status as it stands.
func (x *exchange) update(seq int64) *a2a.TaskStatusUpdateEvent {
	return &a2a.TaskStatusUpdateEvent{TaskID: x.id, ContextID: x.contextID, Status: copyStatus(x.status), Metadata: cursorAt(seq)}
}

// give makes an artifact of an answer, and its update; nil where it is one already.
func (x *exchange) give(e *parley.Event, w *words) []a2a.Event {
	id := w.artifactID()
	if slices.ContainsFunc(x.artifacts, func(a *a2a.Artifact) bool { return a.ID == id }) {
		return nil
	}
	parts := w.parts
	if parts == nil {
		parts = w.message.Parts
	}
	a := &a2a.Artifact{ID: id, Parts: parts, Metadata: map[string]any{AuthorExtension: w.message.Metadata[AuthorExtension]}}
	x.artifacts = append(x.artifacts, a)
	return []a2a.Event{&a2a.TaskArtifactUpdateEvent{
		TaskID: x.id, ContextID: x.contextID, Artifact: copyArtifact(a), LastChunk: true, Metadata: cursorAt(e.Seq),
	}}
}

// withdraw forgets the words of a turn from a seq on, and reports whether there were any.
func (x *exchange) withdraw(turn, from int64) bool {
	n := len(x.words)
	x.words = slices.DeleteFunc(x.words, func(w *words) bool { return w.turn == turn && w.seq >= from })
	return len(x.words) < n
}

// task gives a copy.
func (x *exchange) task(seq int64) *a2a.Task {
	t := &a2a.Task{ID: x.id, ContextID: x.contextID, Status: copyStatus(x.status), Metadata: cursorAt(seq)}
	for _, w := range x.words {
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

// copyMessage copies all but what the parts and the values of the metadata point to, which nobody changes.
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
