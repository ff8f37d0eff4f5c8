package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

// Work is what one kind of agent does.
type Work interface {
	// Execute does a job to its end. An Output is an answer, of a failure too. An error is a failed attempt, after which the job may be done again. ctx ends with the claim, at the timeout of the
	// agent, and when the executor is told to stop.
	Execute(ctx context.Context, j *Job) (*Output, error)
}

// Func makes a function a Work.
type Func func(ctx context.Context, j *Job) (*Output, error)

// Execute calls f.
func (f Func) Execute(ctx context.Context, j *Job) (*Output, error) { return f(ctx, j) }

var _ Work = Func(nil)

// Job is one piece of work: a turn, and what it is about.
type Job struct {
	// Agent is the name of the agent, and Type its kind.
	Agent string
	Type  parley.AgentType
	// Parameters are an object that matches the schema of the agent.
	Parameters json.RawMessage
	// Context is the object of getContext, byte for byte; nil for an agent without subscriptions. Trigger is its member trigger; nil where nothing has woken the agent.
	Context json.RawMessage
	Trigger *parley.ContextTrigger
	// Session says what the conversation is; nil at a seat of one that is no session.
	Session *parley.SessionRecord
	// Metadata are those of the conversation.
	Metadata json.RawMessage
	// Turn is what it works in. Its Attempt counts from 1.
	Turn *parley.Turn
}

// Key names the job: it is the same for each attempt at it, and of no other job.
func (j *Job) Key() string {
	if j.Session != nil {
		return j.Turn.ConversationID
	}
	return fmt.Sprintf("%s/%s/%d", j.Turn.ConversationID, j.Turn.AgentID, j.Turn.Number)
}

// KindProgress is the kind of the traces that tell how far a job is.
const KindProgress = "progress"

// Progress tells how far the job is. That it cannot be told is no fault of the job.
func (j *Job) Progress(ctx context.Context, text string) {
	if _, err := j.Turn.Trace(ctx, parley.Trace{Kind: KindProgress, Text: text}); err != nil && j.Turn.Logger != nil {
		j.Turn.Logger.Debug("progress could not be told", "error", err)
	}
}

// Keep writes a trace that a later attempt at the job finds by Kept.
func (j *Job) Keep(ctx context.Context, kind string, data any) error {
	b, err := encode(data)
	if err != nil {
		return err
	}
	if _, err := j.Turn.Trace(ctx, parley.Trace{Kind: kind, Data: b}); err != nil {
		return fmt.Errorf("keep what is being done: %w", err)
	}
	return nil
}

// Kept gives what attempts at this job have kept, those before a restart of the hub too, in their order.
func (j *Job) Kept(ctx context.Context, kind string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for since := j.Turn.SinceSeq; ; {
		page, err := j.Turn.Client.Tail(
			ctx, &parley.TailParams{ConversationID: j.Turn.ConversationID, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("read what earlier attempts have kept: %w", err)
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

// kept gives the data of a trace of this turn; nil for other events.
func (j *Job) kept(e *parley.Event, kind string) json.RawMessage {
	var t parley.Trace
	if e.Type != parley.TypeTrace || e.Turn != j.Turn.Number || e.From != j.Turn.AgentID ||
		json.Unmarshal(e.Payload, &t) != nil || t.Kind != kind {
		return nil
	}
	return t.Data
}
