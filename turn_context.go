package parley

import (
	"context"
	"encoding/json"
)

// KindContext is the kind of the trace that records the agent context of a turn. Its data is
// ContextTrace.
const KindContext = "context"

// ContextTrace is the data of that trace: which events the context has, without their content.
type ContextTrace struct {
	Triggers []int64         `json:"triggers"`
	Sources  []ContextSource `json:"sources"`
	Bytes    int             `json:"bytes"`
}

// Context returns the agent context, as [Client.GetContext] does, and writes a trace of it. It is
// fetched once per turn. Later calls return the same result.
func (t *Turn) Context(ctx context.Context) (*GetContextResult, error) {
	t.fetching.Lock()
	defer t.fetching.Unlock()
	if t.context != nil {
		return t.context, nil
	}
	r, err := t.Client.GetContext(
		ctx,
		&GetContextParams{ConversationID: t.ConversationID, AgentID: t.AgentID, ClaimID: t.ClaimID},
	)
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
