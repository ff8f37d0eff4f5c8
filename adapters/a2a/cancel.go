package a2a

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// cancel writes into the log that the caller takes its task back; a session is stopped. Then the turns that answer it are ended, as far as they are the caller's to
// end. A task that has ended, also one that was canceled, is not cancelable: the specification says so in the words of the error.
func (s *Server) cancel(ctx context.Context, c *caller, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	p, t, _, err := s.look(ctx, c, req.ID)
	if err != nil {
		return nil, err
	}
	if t.Status.State.Terminal() {
		return nil, notCancelable(t)
	}
	if p.session {
		_, err = c.client.StopSession(ctx, &parley.StopSessionParams{SessionID: p.conversation, Reason: "the task was canceled"})
	} else {
		err = s.takeBack(ctx, c, p, req.ID)
	}
	_, t, modes, lookErr := s.look(ctx, c, req.ID)
	switch {
	case lookErr != nil:
		return nil, errOr(err, lookErr.Error())
	case t.Status.State == a2a.TaskStateCanceled:
		return s.show(ctx, c, p, t, modes, nil, maxHistory)
	case t.Status.State.Terminal():
		return nil, notCancelable(t)
	}
	return nil, errOr(err, "a task that was canceled goes on")
}

func notCancelable(t *a2a.Task) error {
	return fmt.Errorf("%w: task %s has ended (%s)", a2a.ErrTaskNotCancelable, t.ID, t.Status.State)
}

// takeBack writes the note, and ends the turns of others up to where the floor is the caller's, at most one for each participant.
func (s *Server) takeBack(ctx context.Context, c *caller, p *place, id a2a.TaskID) error {
	data, err := json.Marshal(map[string]a2a.TaskID{"taskId": id})
	if err != nil {
		return err
	}
	_, err = c.client.SendNote(ctx, &parley.SendNoteParams{
		ConversationID: p.conversation, Payload: parley.Note{Schema: noteCanceled, Data: data}, ClientRequestID: "a2a-x:" + string(id),
	})
	if err != nil {
		return hidden(err)
	}
	for range p.seats {
		g, err := c.client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: p.conversation})
		if err != nil || g.Guidance.Kind != parley.Wait {
			break
		}
		_, err = c.client.CancelTurn(ctx, &parley.CancelTurnParams{ConversationID: p.conversation, Turn: g.Guidance.Turn, Reason: "the task was canceled"})
		if err != nil {
			break // it answers somebody else, or has just ended
		}
	}
	return nil
}
