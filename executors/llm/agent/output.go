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

// check returns the answer of the last step. If it does not match the schema, the model is asked to
// repair it once.
func (t *thread) check(ctx context.Context, s *record.Step) (*answer, error) {
	a, wrong := t.checkAnswer(s)
	if len(wrong) == 0 {
		return a, nil
	}
	if s.Status == llm.StatusPartial {
		return nil, &failure{reason: ReasonBudget, text: "The budget of this turn was used up before the answer was complete",
			wrong: wrong, err: llm.ErrBudget}
	}
	t.addStep(s, nil)
	t.messages = append(t.messages, repairMessage(wrong))
	t.phase, t.choice, t.number = record.PhaseRepair, llm.ToolsNone, 0
	s, err := t.next(ctx)
	if err != nil {
		var over *llm.BudgetError
		if errors.As(err, &over) && over.What == "max_steps" {
			return nil, schemaFailure(wrong)
		}
		return nil, err
	}
	if a, wrong = t.checkAnswer(s); len(wrong) > 0 {
		return nil, schemaFailure(wrong)
	}
	return a, nil
}

func schemaFailure(wrong []parley.ValidationError) error {
	return &failure{reason: ReasonSchema, text: "The result does not match the agent's output_schema", wrong: wrong,
		err: &llm.SchemaError{Faults: wrong}}
}

// checkAnswer returns the answer of a step, and its schema errors.
func (t *thread) checkAnswer(s *record.Step) (*answer, []parley.ValidationError) {
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
	data, wrong := matchSchema(t.output, a.text)
	a.data = data
	return a, wrong
}

func refusal(s *record.Step) *answer {
	a := &answer{text: s.Refusal, refusal: true}
	if a.text == "" {
		a.text = "The model refused to answer."
	}
	return a
}

// matchSchema returns the JSON of a text that matches a schema, or its errors.
func matchSchema(schema *paramschema.Schema, text string) ([]byte, []parley.ValidationError) {
	data := dataOf(unfenced(text))
	if data == nil {
		return nil, []parley.ValidationError{{Path: "$", Message: "the answer is not JSON alone"}}
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

// unfenced returns the content of the only fenced block of a text, or the text.
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

// repairMessage reports the schema errors to the model.
func repairMessage(wrong []parley.ValidationError) llm.Message {
	var b strings.Builder
	b.WriteString(RepairText)
	for _, w := range wrong {
		fmt.Fprintf(&b, "\n%s: %s", w.Path, w.Message)
	}
	return hubMessage(b.String())
}
