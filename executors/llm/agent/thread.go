package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// thread is one history with a model: of the planner or of the agent. Each sees only its own.
type thread struct {
	*run
	phase      record.Phase
	model      *model
	definition llm.Definition
	choice     llm.ToolChoice
	messages   []llm.Message
	number     int  // of the last step
	live       bool // send the text as deltas
}

// loop calls the model and runs tools until the model answers without tool calls.
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

// next calls the model once.
func (t *thread) next(ctx context.Context) (*record.Step, error) {
	if err := t.limitHistory(ctx); err != nil {
		return nil, err
	}
	t.number++
	if t.phase == record.PhaseExecute {
		t.choice = t.toolChoiceNow()
	}
	s, err := t.ask(ctx, &question{
		phase: t.phase, number: t.number, model: t.model, definition: t.definition, choice: t.choice, messages: t.messages,
		live: t.live,
	})
	if err == nil && t.live && s.Message.Text != "" {
		t.said = s.Message.Text
	}
	return s, err
}

// toolChoiceNow returns the choice of tools for the next call of the agent. A tool that the model
// must call is called once: otherwise the model could never answer. Children decide themselves. A
// tool of an optional server that is missing cannot be called.
func (t *thread) toolChoiceNow() llm.ToolChoice {
	choice := t.toolChoice()
	name, _ := choice.Tool()
	if slices.ContainsFunc(t.missing, func(m tool.Missing) bool { return strings.HasPrefix(name, m.Server+"__") }) {
		return llm.ToolsAuto
	}
	if t.child != nil || len(t.definition.Tools) == 0 || choice != llm.ToolsNone && t.totals.ToolsInvoked > 0 {
		return llm.ToolsAuto
	}
	return choice
}

// runTools runs the tool calls of a step, and adds both to the history.
func (t *thread) runTools(ctx context.Context, s *record.Step) error {
	calls := s.Message.ToolCalls
	most := t.options().MaxToolCalls
	if most > 0 && t.totals.ToolsInvoked+len(calls) > most {
		return &llm.BudgetError{What: "max_tool_calls", Limit: int64(most), Used: int64(t.totals.ToolsInvoked + len(calls))}
	}
	timed, stop, err := t.limitTime(ctx)
	if err != nil {
		return err
	}
	defer stop()
	t.totals.earlier += t.earlierToolTime(calls)
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
	t.addStep(s, results)
	return t.offerReader(ctx, len(calls))
}

// offerReader adds read_file to the tools if a result of the last step was cut.
func (t *thread) offerReader(ctx context.Context, calls int) error {
	cut := false
	for i := range calls {
		_, ended := t.record.Tool(record.ToolKey(t.phase, t.number, strconv.Itoa(i)))
		cut = cut || ended != nil && ended.Metadata.OffloadedArtifactID != nil
	}
	if !cut {
		return nil
	}
	reader, ok, err := t.box.ReaderSpec(ctx, t.turn.Client)
	there := func(s llm.ToolSpec) bool { return s.Name == reader.Name }
	if err != nil || !ok || slices.ContainsFunc(t.definition.Tools, there) {
		return err
	}
	t.definition.Tools = append(slices.Clip(t.definition.Tools), reader)
	return nil
}

// earlierToolTime returns how long the tools of a round took in earlier attempts. They ran
// concurrently, so it is the longest duration.
func (t *thread) earlierToolTime(calls []llm.ToolCall) (longest time.Duration) {
	for i := range calls {
		if _, ended := t.record.Tool(record.ToolKey(t.phase, t.number, strconv.Itoa(i))); ended != nil {
			longest = max(longest, time.Duration(ended.DurationMs*float64(time.Millisecond)))
		}
	}
	return longest
}

// addStep adds an answer and its tool results to the history, each with the used part of the
// context if the config enables that.
func (t *thread) addStep(s *record.Step, results []llm.ToolResult) {
	said, note := s.Message, t.contextUsage(t.model, s.Usage.PromptTokens+s.Usage.CompletionTokens)
	said.Text = join(said.Text, note)
	t.messages = append(t.messages, said)
	if len(results) == 0 {
		return
	}
	told := append([]llm.ToolResult(nil), results...)
	for i := range told {
		told[i].Text = join(escapeMarks(told[i].Text), note)
	}
	t.messages = append(t.messages, llm.Message{Role: llm.RoleTool, Results: told})
}

// contextUsage returns the line that shows how much of the context is used. It is empty unless the
// config enables it.
func (a *Agent) contextUsage(m *model, used int64) string {
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

// isRefusal reports whether the model or its vendor refused.
func isRefusal(s *record.Step) bool { return s.Refusal != "" || s.Finish == llm.FinishRefusal }
