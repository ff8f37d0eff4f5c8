package a2a

import (
	"context"
	"crypto/rand"

	"github.com/a2aproject/a2a-go/v2/a2a"
	protolog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/parleyhub/parley"
)

// Reply is what a peer has answered to a question outside of any conversation.
type Reply struct {
	State  a2a.TaskState
	Text   string
	TaskID a2a.TaskID // empty: it was a message without a task
	// Files is how many other parts there were, and Events how many answers and events were heard.
	Files, Events int
	// Streamed is true when it came in a stream.
	Streamed bool
}

// Ask sends a text to a peer, as a new task, and waits until that has settled. A task that does not end is canceled then, as far as the peer lets it.
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
			a.log.Debug("the task of the remote agent was not canceled", "task", x.taskID, "error", err)
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

// messageID gives the id of what is sent.
func (x *exchange) messageID(variant string) string {
	if x.turn == nil {
		return "parley-" + rand.Text()
	}
	return messageID(x.turn, variant)
}

// trace leaves one in the log, if there is one.
func (x *exchange) trace(ctx context.Context, t parley.Trace) error {
	if x.turn == nil {
		return nil
	}
	_, err := x.turn.Trace(ctx, t)
	return err
}
