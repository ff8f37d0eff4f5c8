package a2a

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	protolog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/parleyhub/parley"
)

const (
	// abandonTimeout limits the work after a turn ended without an answer.
	abandonTimeout = 5 * time.Second
	// lookTimeout limits the call of the hub in that time.
	lookTimeout = 2 * time.Second
)

// AbandonWait is how long HandleTurn may continue after the end of its ctx. Grace of
// executors.Options should be longer.
const AbandonWait = abandonTimeout + time.Second

// HandleTurn passes the turn to the remote agent.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	ctx = protolog.AttachLogger(ctx, a.log)
	m, err := a.remember(ctx, turn)
	if err != nil {
		return "", fmt.Errorf("read the conversation: %w", err)
	}
	parts, err := compose(ctx, turn, m)
	if err != nil {
		return "", err
	}
	if len(parts) == 0 && m.begun == nil {
		return parley.TurnNoAction, nil
	}
	p, err := a.connect(ctx)
	if err != nil {
		return "", err
	}
	x := &exchange{Agent: a, turn: turn, peer: p, memory: m, parts: parts, answer: newAnswer()}
	waiting, cancel := context.WithTimeoutCause(ctx, a.opts.MaxWait, ErrMaxWait)
	defer cancel()
	x.dropLeft(waiting)
	if err := x.run(waiting); err != nil {
		if cause := context.Cause(waiting); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		x.abandon(ctx, err)
		return "", err
	}
	return x.say(ctx)
}

// dropLeft cancels the tasks that earlier turns left open.
func (x *exchange) dropLeft(ctx context.Context) {
	if len(x.memory.left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, abandonTimeout)
	defer cancel()
	for _, id := range x.memory.left {
		if id == x.memory.link.TaskID {
			continue
		}
		if err := x.peer.cancel(ctx, id); err != nil {
			x.log.Debug("canceling a task of an earlier turn failed", "task", id, "error", err)
		}
	}
}

// abandon cancels the open task of a turn that failed with err, unless another attempt continues
// it: in another replica, or here after a restart.
func (x *exchange) abandon(ctx context.Context, err error) {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrCredentials) {
		x.forget()
	}
	if x.taskID == "" || x.settled {
		return
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	switch {
	// The claim is lost, or the executor stops.
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		if !x.isOver(after) {
			return
		}
	case ctx.Err() == nil && (errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTaskLost)):
		return
	}
	if err := x.peer.cancel(after, x.taskID); err != nil {
		x.log.Warn("canceling the task of the remote agent failed", "task", x.taskID, "error", err)
	}
}

// isOver asks the hub whether the turn ended. It returns false if the hub does not answer, because
// the claim may still be active.
func (x *exchange) isOver(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	g, err := x.turn.Client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: x.turn.ConversationID})
	return err == nil && (g.Guidance.Kind == parley.Closed || g.Guidance.Turn > x.turn.Number)
}

// stateWord returns the state of a link for an A2A state that ends a turn.
func stateWord(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateInputRequired:
		return stateInput
	case a2a.TaskStateAuthRequired:
		return stateAuth
	case a2a.TaskStateRejected:
		return stateRejected
	case a2a.TaskStateCompleted:
		return stateCompleted
	}
	return stateFailed
}
