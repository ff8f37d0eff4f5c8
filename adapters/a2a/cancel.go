package a2a

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// cancel records in the log that the caller cancels its task, or stops the session. Then it ends
// the turns that answer the task, if the caller may end them. A task that ended or was canceled
// cannot be canceled: the specification requires an error.
func (s *Server) cancel(ctx context.Context, c *caller, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	p, t, _, err := s.loadTask(ctx, c, req.ID)
	if err != nil {
		return nil, err
	}
	if t.Status.State.Terminal() {
		return nil, notCancelable(t)
	}
	if p.session {
		_, err = c.client.StopSession(ctx, &parley.StopSessionParams{SessionID: p.conversation,
			Reason: "the task was canceled"})
	} else {
		err = s.cancelInLog(ctx, c, p, req.ID)
	}
	_, t, modes, lookErr := s.loadTask(ctx, c, req.ID)
	switch {
	case lookErr != nil:
		return nil, errOr(err, lookErr.Error())
	case t.Status.State == a2a.TaskStateCanceled:
		return s.taskResult(ctx, c, p, t, modes, nil, maxHistory)
	case t.Status.State.Terminal():
		return nil, notCancelable(t)
	}
	return nil, errOr(err, "a task continues after its cancelation")
}

func notCancelable(t *a2a.Task) error {
	return fmt.Errorf("%w: task %s already ended (%s)", a2a.ErrTaskNotCancelable, t.ID, t.Status.State)
}

// cancelInLog posts the note, and ends the turns of other participants until the caller has the
// floor. It ends at most one turn for each participant.
func (s *Server) cancelInLog(ctx context.Context, c *caller, p *conversationInfo, id a2a.TaskID) error {
	data, err := json.Marshal(map[string]a2a.TaskID{"taskId": id})
	if err != nil {
		return err
	}
	_, err = c.client.SendNote(ctx, &parley.SendNoteParams{
		ConversationID: p.conversation, Payload: parley.Note{Schema: noteCanceled, Data: data}, ClientRequestID: "a2a-x:" +
			string(id),
	})
	if err != nil {
		return hideNotFound(err)
	}
	for range p.seats {
		g, err := c.client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: p.conversation})
		if err != nil || g.Guidance.Kind != parley.Wait {
			break
		}
		_, err = c.client.CancelTurn(ctx, &parley.CancelTurnParams{ConversationID: p.conversation, Turn: g.Guidance.Turn,
			Reason: "the task was canceled"})
		if err != nil {
			break // the turn answers another participant, or has just ended
		}
	}
	return nil
}
