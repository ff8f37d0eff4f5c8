package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// compactedData is the data of llm_compacted.
type compactedData struct {
	Number int `json:"number"`
	// Messages were put together; the prompt had Before tokens, and has After.
	Messages int   `json:"messages"`
	Before   int64 `json:"before_tokens"`
	After    int64 `json:"after_tokens"`
	Limit    int64 `json:"limit_tokens"`
}

// fit makes the history shorter where the next prompt would be over the limit of budget_awareness, and fails with errContext where it stays so.
func (t *thread) fit(ctx context.Context) error {
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
		if before, err = t.shrink(ctx, percent, before, limit); err != nil {
			return err
		}
	}
	return nil
}

// shrink puts together as many of the older messages as one call may read, and gives the size of the next prompt then.
func (t *thread) shrink(ctx context.Context, percent int, before, limit int64) (after int64, err error) {
	from, to := t.middle()
	if percent == 0 || from >= to {
		return 0, errContext
	}
	if to, err = t.fitting(ctx, from, to, limit); err != nil {
		return 0, err
	}
	if err := t.compact(ctx, from, to); err != nil {
		return 0, err
	}
	if after, err = t.size(ctx); err != nil {
		return 0, err
	}
	data := &compactedData{Number: t.compactions, Messages: to - from, Before: before, After: after, Limit: limit}
	if len(t.record.Said(record.KindCompacted)) < t.compactions {
		text := fmt.Sprintf("%d messages were put together", data.Messages)
		if err := t.record.Say(ctx, record.KindCompacted, text, data); err != nil {
			return 0, err
		}
	}
	if after >= before {
		return 0, errContext
	}
	return after, nil
}

// fitting gives the end of the messages from a place on that one call may put together. It fails with errContext where that is none, or one that was put together already.
func (t *thread) fitting(ctx context.Context, from, to int, limit int64) (int, error) {
	for ; to > from; to-- {
		if t.messages[to].Role == llm.RoleTool {
			continue // its calls would be left without results
		}
		q := t.compaction(from, to)
		p, err := t.model.runtime.Prepare(ctx, &q.definition, &llm.Options{})
		if err != nil {
			return 0, t.failed(ctx, q, err)
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

// compaction asks for messages to be put together.
func (t *thread) compaction(from, to int) *question {
	d := t.definition
	d.Instructions, d.Tools, d.OutputSchema = CompactInstructions, nil, nil
	return &question{
		phase: record.PhaseCompact, number: t.compactions + 1, model: t.model, definition: d,
		messages: []llm.Message{{Role: llm.RoleUser, Text: transcript(t.messages[from:to])}},
	}
}

// size is how many tokens the next prompt has, about.
func (t *thread) size(ctx context.Context) (int64, error) {
	p, err := t.model.runtime.Prepare(ctx, &t.definition, &llm.Options{ToolChoice: t.choice})
	if err != nil {
		return 0, t.failed(ctx, &question{model: t.model}, err)
	}
	return p.CountTokens(&llm.Input{Messages: t.messages})
}

// middle is what may be put together: what lies between the first message and the last exchange, which begins with the last message that is not of a tool and has no calls before it.
func (t *thread) middle() (from, to int) {
	last := len(t.messages) - 1
	for last > 0 && t.messages[last].Role != llm.RoleUser &&
		!(t.messages[last].Role == llm.RoleAssistant && len(t.messages[last].ToolCalls) > 0) {
		last--
	}
	return min(1, last), last
}

// compact has the model put messages together, in place of which its words stand then.
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

// transcript tells messages as a text.
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
