package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/triggerinput"
)

// firstEvents is how many events of a session are read at once. The message of the caller follows
// the creation.
const firstEvents = 4

// callerParameters returns the parameters in the first message of the caller of a session.
func callerParameters(ctx context.Context, turn *parley.Turn, c *parley.Snapshot) (json.RawMessage, error) {
	events, next := c.Events, c.NextSeq
	for {
		for i := range events {
			if events[i].Type == parley.TypeMessage && events[i].From == c.Session.Caller {
				m, err := events[i].Message()
				return m.Parameters, err
			}
		}
		if next >= c.LatestSeq {
			return nil, fmt.Errorf("the session has no message with the parameters of its caller")
		}
		page, err := turn.Client.Tail(
			ctx, &parley.TailParams{ConversationID: turn.ConversationID, SinceSeq: next, Limit: firstEvents})
		if err != nil {
			return nil, err
		}
		events, next = page.Events, page.NextSeq
	}
}

// readTrigger sets the parameters from the event of a turn in a seat. That is the last trigger, or
// the last message of another participant since the agent's last turn. found is false if there is
// none.
func (a *Agent) readTrigger(ctx context.Context, j *Job, triggers []int64) (found bool, wrong []parley.ValidationError,
	err error) {
	e, err := a.event(ctx, j.Turn, triggers)
	if err != nil || e == nil {
		return false, nil, err
	}
	var text string
	var data json.RawMessage
	if e.Type == parley.TypeMessage {
		m, err := e.Message()
		if err != nil {
			return false, nil, err
		}
		text, data = m.Text, m.Data
	} else {
		s, err := e.System()
		if err != nil {
			return false, nil, err
		}
		text, data = s.Text, s.Data
	}
	j.Parameters, wrong = triggerinput.Parameters(a.parameters.Properties(), text, data)
	return true, wrong, nil
}

func (a *Agent) event(ctx context.Context, turn *parley.Turn, triggers []int64) (*parley.Event, error) {
	if n := len(triggers); n > 0 {
		page, err := turn.Client.Tail(
			ctx, &parley.TailParams{ConversationID: turn.ConversationID, SinceSeq: triggers[n-1] - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(page.Events) == 0 {
			return nil, fmt.Errorf("the trigger event %d cannot be read", triggers[n-1])
		}
		return &page.Events[0], nil
	}
	u, err := turn.Updates(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(u.Messages) - 1; i >= 0; i-- {
		if u.Messages[i].From != turn.AgentID {
			return &u.Messages[i], nil
		}
	}
	return nil, nil
}
