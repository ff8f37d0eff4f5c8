package a2a

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// The kinds of the traces of this package.
const (
	// TraceTask has the open task of a turn as data, in the form of the member a2a of the agent's
	// messages.
	TraceTask = "a2a.task"
	// TraceProgress has progress messages of the remote agent.
	TraceProgress = "a2a.progress"
)

// tagInputRequired is the tag of a message that asks for input.
const tagInputRequired = "input_required"

// link is the member a2a of the agent's own messages. It identifies the task and context at the
// peer.
type link struct {
	ContextID string `json:"contextId,omitempty"`
	// TaskID is the task of the message. It is open if State is input-required or auth-required.
	TaskID a2a.TaskID `json:"taskId,omitempty"`
	// State is input-required, auth-required, rejected, failed or completed.
	State string `json:"state,omitempty"`
	// Told are the marks of the artifacts of an open task that were already posted.
	Told []string `json:"told,omitempty"`
	// Peer identifies the remote agent, because the ids are only valid there.
	Peer string `json:"peer,omitempty"`
}

// The states of a link.
const (
	stateInput     = "input-required"
	stateAuth      = "auth-required"
	stateCompleted = "completed"
	stateRejected  = "rejected"
	stateFailed    = "failed"
)

// waits reports whether the task is open and waits for input.
func (l *link) waits() bool { return l.TaskID != "" && (l.State == stateInput || l.State == stateAuth) }

// memory is the state in the log before a turn.
type memory struct {
	// link is the link of the agent's last message.
	link link
	// said are the messages of others since then, in order, without withdrawn ones.
	said []parley.Event
	// begun is the task of an earlier attempt of this turn. left are tasks of earlier turns.
	begun *link
	left  []a2a.TaskID

	snapshot *parley.Snapshot
	private  string
}

// remember reads the conversation.
func (a *Agent) remember(ctx context.Context, turn *parley.Turn) (*memory, error) {
	m := &memory{}
	var err error
	if m.snapshot, err = turn.Client.GetConversation(
		ctx, &parley.GetConversationParams{ConversationID: turn.ConversationID, Limit: 1}); err != nil {
		return nil, err
	}
	u, err := turn.Updates(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range u.Messages {
		if e.From != turn.AgentID {
			m.said = append(m.said, e)
		}
	}
	if turn.SinceSeq > 0 {
		if err := a.readLink(ctx, turn, m); err != nil {
			return nil, err
		}
	}
	err = tail(ctx, turn.Client, turn.ConversationID, turn.SinceSeq, func(e *parley.Event) bool {
		a.noteTrace(m, turn, e)
		m.notePrivate(turn, e)
		return true
	})
	return m, err
}

// readLink finds the link in the last message of the agent. If another participant posted that for
// it, the link is in an earlier message.
func (a *Agent) readLink(ctx context.Context, turn *parley.Turn, m *memory) error {
	found := false
	for _, since := range []int64{turn.SinceSeq - 1, 0} {
		err := tail(ctx, turn.Client, turn.ConversationID, since, func(e *parley.Event) bool {
			if l := a.linkOf(e); l != nil && e.From == turn.AgentID {
				m.link, found = *l, true
			}
			return e.Seq < turn.SinceSeq
		})
		if err != nil || found {
			return err
		}
	}
	return nil
}

// linkOf returns the link of a message, or nil if it has none of this peer.
func (a *Agent) linkOf(e *parley.Event) *link {
	if e.Type != parley.TypeMessage || !e.Finality.Final() {
		return nil
	}
	var p struct {
		A2A *link `json:"a2a"`
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.A2A == nil || p.A2A.Peer != a.name {
		return nil
	}
	return p.A2A
}

// noteTrace records the tasks that were started since the last message.
func (a *Agent) noteTrace(m *memory, turn *parley.Turn, e *parley.Event) {
	if e.Type != parley.TypeTrace || e.From != turn.AgentID {
		return
	}
	var t parley.Trace
	var l link
	if json.Unmarshal(e.Payload, &t) != nil || t.Kind != TraceTask || json.Unmarshal(t.Data, &l) != nil ||
		l.Peer != a.name || !safeID(l.TaskID) {
		return
	}
	if e.Turn == turn.Number {
		m.begun = &l
		return
	}
	m.left = append(m.left, l.TaskID)
}

// notePrivate records the private text of this participant.
func (m *memory) notePrivate(turn *parley.Turn, e *parley.Event) {
	if e.Type != parley.TypeSystem || turn.SinceSeq > 0 {
		return
	}
	if s, err := e.System(); err == nil && s.Kind == parley.KindParticipantPrivate && s.ParticipantID == turn.AgentID {
		m.private = s.Text
	}
}

// tail calls take for the events after since until it returns false.
func tail(ctx context.Context, c parley.Client, conversation string, since int64, take func(*parley.Event) bool) error {
	for {
		page, err := c.Tail(ctx, &parley.TailParams{ConversationID: conversation, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return err
		}
		for i := range page.Events {
			if !take(&page.Events[i]) {
				return nil
			}
		}
		if page.NextSeq <= since || page.NextSeq >= page.LatestSeq {
			return nil
		}
		since = page.NextSeq
	}
}

// isSession reports whether the conversation is a session.
func isSession(conversation string) bool { return strings.HasPrefix(conversation, "ses_") }
