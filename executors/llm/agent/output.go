package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/paramschema"
)

// check makes an answer of the last step. Where it has to match a schema and does not, the model is told what is wrong, and asked once more.
func (t *thread) check(ctx context.Context, s *record.Step) (*answer, error) {
	a, wrong := t.held(s)
	if len(wrong) == 0 {
		return a, nil
	}
	if s.Status == llm.StatusPartial {
		return nil, &failure{reason: ReasonBudget, text: "The budget of this turn is used up before the answer was whole",
			wrong: wrong, err: llm.ErrBudget}
	}
	t.add(s, nil)
	t.messages = append(t.messages, repairMessage(wrong))
	t.phase, t.choice, t.number = record.PhaseRepair, llm.ToolsNone, 0
	s, err := t.next(ctx)
	if err != nil {
		var over *llm.BudgetError
		if errors.As(err, &over) && over.What == "max_steps" {
			return nil, unmatched(wrong)
		}
		return nil, err
	}
	if a, wrong = t.held(s); len(wrong) > 0 {
		return nil, unmatched(wrong)
	}
	return a, nil
}

func unmatched(wrong []parley.ValidationError) error {
	return &failure{reason: ReasonSchema, text: "The result does not match the agent's output_schema", wrong: wrong,
		err: &llm.SchemaError{Faults: wrong}}
}

// held makes an answer of a step, or says what is wrong with it.
func (t *thread) held(s *record.Step) (*answer, []parley.ValidationError) {
	if isRefusal(s) {
		return refusal(s), nil
	}
	a := &answer{text: s.Message.Text, partial: s.Status == llm.StatusPartial, cut: s.Finish == llm.FinishLength ||
		s.Truncated}
	if a.partial && a.text == "" {
		a.text = cmp.Or(t.said, PartialMessage)
	}
	if t.output == nil {
		a.data = dataOf(a.text)
		return a, nil
	}
	data, wrong := match(t.output, a.text)
	a.data = data
	return a, wrong
}

func refusal(s *record.Step) *answer {
	a := &answer{text: s.Refusal, refusal: true}
	if a.text == "" {
		a.text = "The model has declined to answer."
	}
	return a
}

// match gives the JSON of a text that matches a schema, or what is wrong with it.
func match(schema *paramschema.Schema, text string) ([]byte, []parley.ValidationError) {
	data := dataOf(unfenced(text))
	if data == nil {
		return nil, []parley.ValidationError{{Path: "$", Message: "the answer is not JSON, and nothing but that"}}
	}
	wrong, err := schema.Validate(data)
	var refused *parley.Error
	switch {
	case errors.As(err, &refused):
		return nil, []parley.ValidationError{{Path: "$", Message: refused.Message}}
	case err != nil:
		return nil, []parley.ValidationError{{Path: "$", Message: err.Error()}}
	case len(wrong) > 0:
		return nil, wrong
	}
	return data, nil
}

// unfenced gives what stands in the one fence of a text that has one, else the text.
func unfenced(text string) string {
	_, inner, begun := strings.Cut(text, "```")
	inner, _, ended := strings.Cut(inner, "```")
	if !begun || !ended || strings.Count(text, "```") != 2 || json.Valid([]byte(text)) {
		return text
	}
	first, rest, lines := strings.Cut(inner, "\n")
	if lines && (strings.TrimSpace(first) == "" || strings.EqualFold(strings.TrimSpace(first), "json")) {
		return rest
	}
	return text
}

// repairMessage tells the model what is wrong.
func repairMessage(wrong []parley.ValidationError) llm.Message {
	var b strings.Builder
	b.WriteString(RepairText)
	for _, w := range wrong {
		fmt.Fprintf(&b, "\n%s: %s", w.Path, w.Message)
	}
	return hubSays(b.String())
}
