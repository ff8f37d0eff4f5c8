package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

// Work is the implementation of one kind of agent.
type Work interface {
	// Execute does a job. An Output is an answer, possibly of a failure. An error is a failed
	// attempt, and the job may be repeated. ctx ends with the claim, at the timeout of the agent,
	// and when the executor stops.
	Execute(ctx context.Context, j *Job) (*Output, error)
}

// Func is a function as a Work.
type Func func(ctx context.Context, j *Job) (*Output, error)

// Execute calls f.
func (f Func) Execute(ctx context.Context, j *Job) (*Output, error) { return f(ctx, j) }

var _ Work = Func(nil)

// Job is the work of one turn.
type Job struct {
	// Agent is the name of the agent, and Type its kind.
	Agent string
	Type  parley.AgentType
	// Parameters is an object that matches the schema of the agent.
	Parameters json.RawMessage
	// Context is the object of getContext, unchanged. It is nil for an agent without subscriptions.
	// Trigger is its member trigger, which is nil without a trigger event.
	Context json.RawMessage
	Trigger *parley.ContextTrigger
	// Session is nil in a seat of a conversation that is not a session.
	Session *parley.SessionRecord
	// Metadata is the metadata of the conversation.
	Metadata json.RawMessage
	// Turn is the turn of the job. Its Attempt counts from 1.
	Turn *parley.Turn
}

// Key identifies the job. It is the same in each attempt.
func (j *Job) Key() string {
	if j.Session != nil {
		return j.Turn.ConversationID
	}
	return fmt.Sprintf("%s/%s/%d", j.Turn.ConversationID, j.Turn.AgentID, j.Turn.Number)
}

// KindProgress is the kind of traces with the progress of a job.
const KindProgress = "progress"

// Progress writes a trace with the progress of the job. A failure to write it is only logged.
func (j *Job) Progress(ctx context.Context, text string) {
	if _, err := j.Turn.Trace(ctx, parley.Trace{Kind: KindProgress, Text: text}); err != nil && j.Turn.Logger != nil {
		j.Turn.Logger.Debug("writing the progress failed", "error", err)
	}
}

// Keep writes a trace, which Kept returns in a later attempt.
func (j *Job) Keep(ctx context.Context, kind string, data any) error {
	b, err := encode(data)
	if err != nil {
		return err
	}
	if _, err := j.Turn.Trace(ctx, parley.Trace{Kind: kind, Data: b}); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}

// Kept returns the traces of a kind that attempts at this job wrote, in order.
func (j *Job) Kept(ctx context.Context, kind string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for since := j.Turn.SinceSeq; ; {
		page, err := j.Turn.Client.Tail(
			ctx, &parley.TailParams{ConversationID: j.Turn.ConversationID, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("read the traces of earlier attempts: %w", err)
		}
		for i := range page.Events {
			if data := j.kept(&page.Events[i], kind); data != nil {
				all = append(all, data)
			}
		}
		if page.NextSeq >= page.LatestSeq || page.NextSeq <= since {
			return all, nil
		}
		since = page.NextSeq
	}
}

// kept returns the data of a trace of this turn, or nil for other events.
func (j *Job) kept(e *parley.Event, kind string) json.RawMessage {
	var t parley.Trace
	if e.Type != parley.TypeTrace || e.Turn != j.Turn.Number || e.From != j.Turn.AgentID ||
		json.Unmarshal(e.Payload, &t) != nil || t.Kind != kind {
		return nil
	}
	return t.Data
}
