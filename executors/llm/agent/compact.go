package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// compactedData is the data of an llm_compacted trace.
type compactedData struct {
	Number int `json:"number"`
	// Messages is the number of replaced messages. Before and After are the size of the prompt in
	// tokens.
	Messages int   `json:"messages"`
	Before   int64 `json:"before_tokens"`
	After    int64 `json:"after_tokens"`
	Limit    int64 `json:"limit_tokens"`
}

// limitHistory compacts the history if the next prompt exceeds the limit of budget_awareness. It
// fails with errContext if the prompt stays too large.
func (t *thread) limitHistory(ctx context.Context) error {
	percent, limited := t.config.BudgetLimit()
	if !limited {
		return nil
	}
	limit := int64(t.model.window) * int64(percent) / 100
	before, err := t.size(ctx)
	if err != nil || before <= limit {
		return err
	}
	for before > limit {
		if before, err = t.compactOnce(ctx, percent, before, limit); err != nil {
			return err
		}
	}
	return nil
}

// compactOnce replaces as many older messages as one call can read by a summary. It returns the
// size of the next prompt.
func (t *thread) compactOnce(ctx context.Context, percent int, before, limit int64) (after int64, err error) {
	from, to := t.compactable()
	if percent == 0 || from >= to {
		return 0, errContext
	}
	if to, err = t.compactionEnd(ctx, from, to, limit); err != nil {
		return 0, err
	}
	if err := t.compact(ctx, from, to); err != nil {
		return 0, err
	}
	if after, err = t.size(ctx); err != nil {
		return 0, err
	}
	data := &compactedData{Number: t.compactions, Messages: to - from, Before: before, After: after, Limit: limit}
	if len(t.record.Traces(record.KindCompacted)) < t.compactions {
		text := fmt.Sprintf("%d messages were summarized", data.Messages)
		if err := t.record.AddTrace(ctx, record.KindCompacted, text, data); err != nil {
			return 0, err
		}
	}
	if after >= before {
		return 0, errContext
	}
	return after, nil
}

// compactionEnd returns the end of the messages that one call can summarize. It fails with
// errContext if there are none, or only one earlier summary.
func (t *thread) compactionEnd(ctx context.Context, from, to int, limit int64) (int, error) {
	for ; to > from; to-- {
		if t.messages[to].Role == llm.RoleTool {
			continue // otherwise its calls would have no results
		}
		q := t.compaction(from, to)
		p, err := t.model.runtime.Prepare(ctx, &q.definition, &llm.Options{})
		if err != nil {
			return 0, t.toFailure(ctx, q, err)
		}
		n, err := p.CountTokens(&llm.Input{Messages: q.messages})
		if err != nil {
			return 0, err
		}
		if n <= limit {
			break
		}
	}
	if to == from || to == from+1 && strings.HasPrefix(t.messages[from].Text, "<summary>") {
		return 0, errContext
	}
	return to, nil
}

// compaction returns the request for a summary of messages.
func (t *thread) compaction(from, to int) *question {
	d := t.definition
	d.Instructions, d.Tools, d.OutputSchema = CompactInstructions, nil, nil
	return &question{
		phase: record.PhaseCompact, number: t.compactions + 1, model: t.model, definition: d,
		messages: []llm.Message{{Role: llm.RoleUser, Text: transcript(t.messages[from:to])}},
	}
}

// size estimates the tokens of the next prompt.
func (t *thread) size(ctx context.Context) (int64, error) {
	p, err := t.model.runtime.Prepare(ctx, &t.definition, &llm.Options{ToolChoice: t.choice})
	if err != nil {
		return 0, t.toFailure(ctx, &question{model: t.model}, err)
	}
	return p.CountTokens(&llm.Input{Messages: t.messages})
}

// compactable returns the messages that may be summarized: those between the first message and the
// last exchange. The last exchange starts at the last message that is from a user, or that has tool
// calls.
func (t *thread) compactable() (from, to int) {
	last := len(t.messages) - 1
	for last > 0 && t.messages[last].Role != llm.RoleUser &&
		!(t.messages[last].Role == llm.RoleAssistant && len(t.messages[last].ToolCalls) > 0) {
		last--
	}
	return min(1, last), last
}

// compact replaces messages by a summary of the model.
func (t *thread) compact(ctx context.Context, from, to int) error {
	q := t.compaction(from, to)
	t.compactions++
	s, err := t.ask(ctx, q)
	if err != nil {
		return err
	}
	if isRefusal(s) || s.Message.Text == "" {
		return errContext
	}
	summary := llm.Message{Role: llm.RoleUser, Text: mark("summary", "", escape(s.Message.Text))}
	t.messages = append(append(append([]llm.Message(nil), t.messages[:from]...), summary), t.messages[to:]...)
	return nil
}

// transcript returns messages as one text.
func transcript(all []llm.Message) string {
	var b strings.Builder
	for _, m := range all {
		var parts []string
		if m.Text != "" {
			parts = append(parts, escape(m.Text))
		}
		for _, c := range m.ToolCalls {
			parts = append(parts, mark("call", attribute("tool", c.Name)+attribute("id", c.ID), escape(c.Arguments)))
		}
		for _, r := range m.Results {
			parts = append(parts, mark("result", attribute("tool", r.Name)+attribute("id", r.CallID), escape(r.Text)))
		}
		b.WriteString(mark(string(m.Role), "", strings.Join(parts, "\n")))
		b.WriteString("\n")
	}
	return b.String()
}
