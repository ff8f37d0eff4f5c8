package parley

import (
	"context"
	"encoding/json"
	"strconv"
)

// Agent is turn logic. The same agent runs inside the hub and in a partner's process.
type Agent interface {
	// HandleTurn is called when the agent has the floor. It speaks through turn and returns when it is done with this
	// turn. The outcome is advice to the caller; what counts is what the log holds. One agent value serves any number of
	// conversations at once, so it keeps nothing between turns but what it reads from the log.
	HandleTurn(ctx context.Context, turn *Turn) (TurnOutcome, error)
}

// AgentFunc makes a function an Agent.
type AgentFunc func(ctx context.Context, turn *Turn) (TurnOutcome, error)

// HandleTurn calls f.
func (f AgentFunc) HandleTurn(ctx context.Context, turn *Turn) (TurnOutcome, error) {
	return f(ctx, turn)
}

var _ Agent = AgentFunc(nil)

// TurnOutcome says how an agent left its turn.
type TurnOutcome string

// The values of TurnOutcome.
const (
	TurnPosted   TurnOutcome = "posted"
	TurnYield    TurnOutcome = "yield"
	TurnNoAction TurnOutcome = "no_action"
	TurnComplete TurnOutcome = "complete"
)

// Turn is what an agent gets to work with: one turn of one conversation.
type Turn struct {
	ConversationID string
	AgentID        string
	// Number is the turn; every Post names it, so that words that come too late are refused and not misplaced.
	Number int64
	// Key makes the idempotency keys of this turn's posts; it is the same when the turn is handled again.
	Key    string
	Client Client

	posts int
}

// Post appends a message of this turn. It is not for concurrent use. A call that fails with ErrOutcomeUnknown may be
// repeated by handling the turn again: the keys are numbered from the start.
func (t *Turn) Post(ctx context.Context, m Message, f Finality) (*SendResult, error) {
	return t.post(ctx, m, f, nil)
}

// Complete posts the message that closes the conversation.
func (t *Turn) Complete(ctx context.Context, m Message, o Outcome) (*SendResult, error) {
	return t.post(ctx, m, FinalityConversation, &o)
}

func (t *Turn) post(ctx context.Context, m Message, f Finality, o *Outcome) (*SendResult, error) {
	payload, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	t.posts++
	return t.Client.SendMessage(ctx, &SendMessageParams{
		ConversationID: t.ConversationID, Payload: payload, Finality: f, Turn: t.Number, Outcome: o,
		ClientRequestID: postKey(t.Key, t.posts),
	})
}

// Trace appends a trace of this turn.
func (t *Turn) Trace(ctx context.Context, tr Trace) (*SendResult, error) {
	payload, err := json.Marshal(tr)
	if err != nil {
		return nil, err
	}
	t.posts++
	return t.Client.SendTrace(ctx, &SendTraceParams{
		ConversationID: t.ConversationID, Payload: payload, Turn: t.Number, ClientRequestID: postKey(t.Key, t.posts),
	})
}

// Messages gives all messages of the conversation so far.
func (t *Turn) Messages(ctx context.Context) ([]Event, error) {
	var all []Event
	var since int64
	for {
		u, err := t.Client.GetUpdates(ctx, &GetUpdatesParams{ConversationID: t.ConversationID, SinceSeq: since})
		if err != nil {
			return nil, err
		}
		all = append(all, u.Messages...)
		since = u.NextSeq
		if since >= u.LatestSeq {
			return all, nil
		}
	}
}

func postKey(key string, n int) string {
	return key + "." + strconv.Itoa(n)
}
