package agent

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// thread is one history with a model: that of the planner, or that of the agent. Neither sees the other's.
type thread struct {
	*run
	phase      record.Phase
	model      *model
	definition llm.Definition
	choice     llm.ToolChoice
	messages   []llm.Message
	number     int  // of the last step
	live       bool // what is said is told while it comes
}

// loop asks and runs tools until the model has answered.
func (t *thread) loop(ctx context.Context) (*record.Step, error) {
	for {
		s, err := t.next(ctx)
		if err != nil || s.Status == llm.StatusPartial || isRefusal(s) || len(s.Message.ToolCalls) == 0 {
			return s, err
		}
		if err := t.runTools(ctx, s); err != nil {
			return nil, err
		}
	}
}

// next asks once.
func (t *thread) next(ctx context.Context) (*record.Step, error) {
	if err := t.fit(ctx); err != nil {
		return nil, err
	}
	t.number++
	s, err := t.ask(ctx, &question{
		phase: t.phase, number: t.number, model: t.model, definition: t.definition, choice: t.choice, messages: t.messages,
		live: t.live,
	})
	if err == nil && t.live && s.Message.Text != "" {
		t.said = s.Message.Text
	}
	return s, err
}

// runTools runs what a step wants, and adds both to the history.
func (t *thread) runTools(ctx context.Context, s *record.Step) error {
	calls := s.Message.ToolCalls
	most := t.options().MaxToolCalls
	if most > 0 && t.totals.ToolsInvoked+len(calls) > most {
		return &llm.BudgetError{What: "max_tool_calls", Limit: int64(most), Used: int64(t.totals.ToolsInvoked + len(calls))}
	}
	timed, stop, err := t.timed(ctx)
	if err != nil {
		return err
	}
	defer stop()
	t.totals.earlier += t.taken(calls)
	results, err := t.box.Run(
		timed, &tool.Round{Turn: t.turn, Record: t.record, Phase: t.phase, Step: t.number, Calls: calls,
			Cut: s.Finish == llm.FinishLength})
	if err != nil {
		if ctx.Err() == nil && timed.Err() != nil {
			return context.Cause(timed)
		}
		return fmt.Errorf("run the tools: %w", err)
	}
	t.totals.ToolsInvoked += len(calls)
	t.add(s, results)
	return nil
}

// taken is how long the tools of a round have taken in earlier attempts: they ran at once, so it is the longest of them.
func (t *thread) taken(calls []llm.ToolCall) (longest time.Duration) {
	for i := range calls {
		if _, ended := t.record.Tool(record.ToolKey(t.phase, t.number, strconv.Itoa(i))); ended != nil {
			longest = max(longest, time.Duration(ended.DurationMs*float64(time.Millisecond)))
		}
	}
	return longest
}

// add adds an answer and the results of its tools, each with how much of the context is used where the model is to know.
func (t *thread) add(s *record.Step, results []llm.ToolResult) {
	said, note := s.Message, t.advice(t.model, s.Usage.PromptTokens+s.Usage.CompletionTokens)
	said.Text = join(said.Text, note)
	t.messages = append(t.messages, said)
	if len(results) == 0 {
		return
	}
	told := append([]llm.ToolResult(nil), results...)
	for i := range told {
		told[i].Text = join(defuse(told[i].Text), note)
	}
	t.messages = append(t.messages, llm.Message{Role: llm.RoleTool, Results: told})
}

// advice says how much of the context is used; empty unless the config wants it.
func (a *Agent) advice(m *model, used int64) string {
	if a.config.BudgetAwareness != parley.BudgetPerMessage {
		return ""
	}
	if m.window == 0 {
		return fmt.Sprintf("[context: %d tokens used]", used)
	}
	return fmt.Sprintf("[context: %d of %d tokens used]", used, m.window)
}

func join(text, note string) string {
	switch {
	case note == "":
		return text
	case text == "":
		return note
	}
	return text + "\n\n" + note
}

// isRefusal reports whether the model, or its vendor, has declined.
func isRefusal(s *record.Step) bool { return s.Refusal != "" || s.Finish == llm.FinishRefusal }
