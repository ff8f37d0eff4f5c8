package a2a

import (
	"context"
	"crypto/rand"

	"github.com/a2aproject/a2a-go/v2/a2a"
	protolog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/parleyhub/parley"
)

// Reply is the answer of a peer to a message outside of conversations.
type Reply struct {
	State  a2a.TaskState
	Text   string
	TaskID a2a.TaskID // empty for a message without a task
	// Files counts the other parts, and Events the received answers and events.
	Files, Events int
	// Streamed is true if the answer was streamed.
	Streamed bool
}

// Ask sends a text to a peer as a new task, and waits until the task settles. It tries to cancel a
// task that does not end.
func (a *Agent) Ask(ctx context.Context, p *Peer, text string) (*Reply, error) {
	ctx = protolog.AttachLogger(ctx, a.log)
	x := &exchange{Agent: a, peer: p, memory: &memory{}, parts: a2a.ContentParts{a2a.NewTextPart(text)},
		answer: newAnswer()}
	waiting, cancel := context.WithTimeoutCause(ctx, a.opts.MaxWait, ErrMaxWait)
	defer cancel()
	err := x.run(waiting)
	if x.taskID != "" && !x.state.Terminal() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
		defer cancel()
		if err := p.cancel(after, x.taskID); err != nil {
			a.log.Debug("canceling the task of the remote agent failed", "task", x.taskID, "error", err)
		}
	}
	if err != nil {
		return nil, err
	}
	r := &Reply{State: x.state, TaskID: x.taskID, Events: x.heard, Streamed: p.streams()}
	all := x.answer.all()
	r.Text = textOf(all)
	for _, part := range all {
		if !isText(part) {
			r.Files++
		}
	}
	return r, nil
}

// messageID returns the id of the sent message.
func (x *exchange) messageID(variant string) string {
	if x.turn == nil {
		return "parley-" + rand.Text()
	}
	return messageID(x.turn, variant)
}

// trace writes a trace, if there is a turn.
func (x *exchange) trace(ctx context.Context, t parley.Trace) error {
	if x.turn == nil {
		return nil
	}
	_, err := x.turn.Trace(ctx, t)
	return err
}
