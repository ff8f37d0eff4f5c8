package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/paramschema"
)

// run is the work on one turn, of one goroutine.
type run struct {
	*Agent
	turn   *parley.Turn
	record *record.Log
	view   *view
	child  *child // nil for the agent itself
	fed    []byte // the context; nil for an agent without subscriptions
	box    *tool.Box
	output *paramschema.Schema // of the answer; nil for none
	began  time.Time
	log    *slog.Logger

	specs  []llm.ToolSpec
	totals totals
	// said is what the model has said last, of compactions as many as there were.
	said        string
	compactions int
	speaker     *speaker
}

// answer is what a turn has brought.
type answer struct {
	text string
	data []byte // the answer as JSON; nil where it is none
	// refusal is true where the model has declined, and text is how.
	refusal bool
	// partial is true where a budget was over before the end, and cut where the model was cut off at its bound of tokens.
	partial, cut bool
	// budget is true where the text is BudgetMessage.
	budget bool
}

// answer does the work.
func (r *run) answer(ctx context.Context) (*answer, error) {
	if err := r.asChild(ctx); err != nil {
		return nil, err
	}
	if r.child != nil {
		defer r.child.close(r.log)
	}
	messages, err := r.messages()
	if err != nil {
		return nil, err
	}
	messages = append(messages, r.feeding()...)
	if r.specs, err = r.box.Specs(ctx, r.turn.Client); err != nil {
		return nil, r.noTools(err)
	}
	r.speaker = newSpeaker(ctx, r.turn, r.log)
	defer r.speaker.close()
	got, err := r.work(ctx, messages)
	var over *llm.BudgetError
	switch {
	case errors.Is(err, errContext):
		return r.budgetAnswer()
	case errors.As(err, &over):
		return r.exceeded(over)
	}
	return got, err
}

// noTools says why there are no tools: a name that nobody offers is no fault of the moment.
func (r *run) noTools(err error) error {
	if errors.Is(err, llm.ErrUnknownTool) {
		return &failure{reason: reasonTools, text: err.Error(), err: err}
	}
	return err
}

// work plans, runs the loop, and checks what it has brought.
func (r *run) work(ctx context.Context, messages []llm.Message) (*answer, error) {
	plan, refused, err := r.plan(ctx, messages)
	if err != nil || refused != nil {
		return refused, err
	}
	t := &thread{
		run: r, phase: record.PhaseExecute, model: r.main, messages: slices.Clone(messages), live: true,
		definition: r.definition(r.main, r.instructions(plan), r.output),
	}
	s, err := t.loop(ctx)
	if err != nil {
		return nil, err
	}
	return t.check(ctx, s)
}

// definition is what an agent of this config is to a model.
func (r *run) definition(m *model, instructions string, output *paramschema.Schema) llm.Definition {
	c := r.config
	d := llm.Definition{Model: m.name, Instructions: instructions, Tools: r.specs, Temperature: c.Temperature,
		TopP: c.TopP, MaxTokens: c.MaxTokens}
	if output != nil {
		d.OutputSchema = output.Raw()
	}
	return d
}

// exceeded is the end of a turn whose budget is over: what was said so far, or a failure.
func (r *run) exceeded(over *llm.BudgetError) (*answer, error) {
	if b := r.options().Budget; b != nil && b.OnExceeded == parley.BudgetPartial && r.output == nil {
		return &answer{text: cmp.Or(r.said, PartialMessage), partial: true}, nil
	}
	return nil, &failure{reason: ReasonBudget, text: "The budget of this turn is used up: " + over.What, err: over}
}

// budgetAnswer is the end of a turn whose context does not fit: a result like others, unless it has to match a schema.
func (r *run) budgetAnswer() (*answer, error) {
	if r.output != nil {
		return nil, &failure{reason: ReasonContext, text: BudgetMessage, err: errContext}
	}
	return &answer{text: BudgetMessage, budget: true}, nil
}
