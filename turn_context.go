package parley

import (
	"context"
	"encoding/json"
)

// KindContext is the kind of the trace that says what a turn was given: its data is ContextTrace.
const KindContext = "context"

// ContextTrace is what that trace says: where from, not what.
type ContextTrace struct {
	Triggers []int64         `json:"triggers"`
	Sources  []ContextSource `json:"sources"`
	Bytes    int             `json:"bytes"`
}

// Context gives what the agent is to work with, as GetContext does, and writes the trace of it. It is fetched once in a turn: another call gives the same.
func (t *Turn) Context(ctx context.Context) (*GetContextResult, error) {
	t.fetching.Lock()
	defer t.fetching.Unlock()
	if t.context != nil {
		return t.context, nil
	}
	r, err := t.Client.GetContext(ctx, &GetContextParams{ConversationID: t.ConversationID, AgentID: t.AgentID, ClaimID: t.ClaimID})
	if err != nil {
		return nil, err
	}
	if r.Context != nil {
		data, err := json.Marshal(ContextTrace{Triggers: r.Triggers, Sources: r.Sources, Bytes: r.Bytes})
		if err != nil {
			return nil, err
		}
		if _, err := t.Trace(ctx, Trace{Kind: KindContext, Data: data}); err != nil {
			return nil, err
		}
	}
	t.context = r
	return r, nil
}
