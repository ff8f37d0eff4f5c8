package a2a

import (
	"encoding/json"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// authorOf returns the value of AuthorExtension.
func authorOf(e *parley.Event) map[string]any {
	return map[string]any{"participant": e.From, "seq": e.Seq}
}

// newMessage returns the message of an event without its parts.
func (l *taskFold) newMessage(e *parley.Event, role a2a.MessageRole, p *payload) *a2a.Message {
	m := &a2a.Message{
		ID: l.conversationID + "-" + strconv.FormatInt(e.Seq, 10), ContextID: l.contextID, TaskID: l.current.id, Role: role,
		Extensions: p.Extensions, Metadata: map[string]any{},
	}
	for k, v := range p.Metadata {
		m.Metadata[k] = v
	}
	m.Metadata[AuthorExtension] = authorOf(e)
	return m
}

// ownMessage returns the message of the caller for the history.
func (l *taskFold) ownMessage(e *parley.Event, p *payload) *taskMessage {
	m := l.newMessage(e, a2a.MessageRoleUser, p)
	switch {
	case p.MessageID != "":
		m.ID = p.MessageID
	case l.firstID != "":
		m.ID, l.firstID = l.firstID, ""
	}
	for _, id := range p.ReferenceTasks {
		m.ReferenceTasks = append(m.ReferenceTasks, a2a.TaskID(id))
	}
	content := contentOf(e)
	m.Parts = partsOf(&content, p.Parts)
	return &taskMessage{seq: e.Seq, turn: e.Turn, byCaller: true, message: m}
}

// otherMessage returns a message of another participant for the history.
func (l *taskFold) otherMessage(e *parley.Event, x *taskRecord) *taskMessage {
	p := payloadOf(e)
	content := contentOf(e)
	m := l.newMessage(e, a2a.MessageRoleAgent, &p)
	w := &taskMessage{seq: e.Seq, turn: e.Turn, message: m, state: stateOf(&p, &content), asMessage: p.Message}
	if content.Result == nil {
		m.Parts = partsOf(&content, p.Parts)
		return w
	}
	w.parts = resultParts(content.Result)
	m.Parts = resultMessage(&content, e)
	return w
}

// contentOf parses the payload of a message. The hub has checked it; an invalid one becomes an
// empty message.
func contentOf(e *parley.Event) parley.Message {
	m, err := e.Message()
	if err != nil {
		return parley.Message{}
	}
	return m
}

// hubMessage returns a message of the hub for the history, for events without a message.
func (l *taskFold) hubMessage(e *parley.Event, text string) *a2a.Message {
	by := *e
	by.From = parley.HubID
	m := l.newMessage(&by, a2a.MessageRoleAgent, &payload{})
	m.Parts = a2a.ContentParts{a2a.NewTextPart(text)}
	return m
}

// states are the task states that a participant may name.
var states = map[string]a2a.TaskState{
	"input-required": a2a.TaskStateInputRequired,
	"auth-required":  a2a.TaskStateAuthRequired,
	"rejected":       a2a.TaskStateRejected,
	"failed":         a2a.TaskStateFailed,
	"completed":      a2a.TaskStateCompleted,
}

// stateOf returns the task state that a message names, or "".
func stateOf(p *payload, m *parley.Message) a2a.TaskState {
	if s, ok := states[p.State]; ok {
		return s
	}
	for _, tag := range m.Tags {
		if tag == tagInputRequired {
			return a2a.TaskStateInputRequired
		}
	}
	return ""
}

// payloadOf parses payload.a2a of a message. Any participant may write there, so invalid members
// are ignored.
func payloadOf(e *parley.Event) (p payload) {
	var outer, members map[string]json.RawMessage
	if json.Unmarshal(e.Payload, &outer) != nil || json.Unmarshal(outer[payloadKey], &members) != nil {
		return p
	}
	read := func(name string, into any) bool {
		raw, ok := members[name]
		return ok && json.Unmarshal(raw, into) == nil
	}
	read("messageId", &p.MessageID)
	read("taskId", &p.TaskID)
	read("state", &p.State)
	read("message", &p.Message)
	if !read("extensions", &p.Extensions) {
		p.Extensions = nil
	}
	if !read("referenceTaskIds", &p.ReferenceTasks) {
		p.ReferenceTasks = nil
	}
	if !read("acceptedOutputModes", &p.AcceptedOutputModes) {
		p.AcceptedOutputModes = nil
	}
	if v, err := decode(members["metadata"]); err == nil {
		p.Metadata, _ = v.(map[string]any)
	}
	p.Parts = readParts(members["parts"])
	return p
}
