package agent

import (
	"context"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
)

// fetchContext returns the context of a turn. It is nil for an agent without subscriptions.
func (a *Agent) fetchContext(ctx context.Context, turn *parley.Turn) ([]byte, error) {
	if len(a.blueprint.Subscriptions) == 0 {
		return nil, nil
	}
	got, err := turn.Context(ctx)
	if err != nil {
		return nil, fmt.Errorf("fetch the context: %w", err)
	}
	return got.Context, nil
}

// contextMessages returns the context as a message for the model. Children get none.
func (r *run) contextMessages() []llm.Message {
	if r.context == nil || r.child != nil {
		return nil
	}
	return []llm.Message{{Role: llm.RoleUser, Text: mark("hub", "", FeedText) + "\n" + string(r.context)}}
}
