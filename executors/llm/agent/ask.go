package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// question is what a model is asked in one step.
type question struct {
	phase      record.Phase
	number     int
	model      *model
	definition llm.Definition
	choice     llm.ToolChoice
	messages   []llm.Message
	live       bool
}

// hash tells one question from another. Budgets and ids are no part of it.
func (q *question) hash(o *parley.AgentRunOptions) (string, error) {
	d := &q.definition
	b, err := json.Marshal(map[string]any{
		"model": q.model.full, "instructions": d.Instructions, "tools": d.Tools, "output_schema": d.OutputSchema,
		"temperature": d.Temperature, "top_p": d.TopP,
		"max_tokens": d.MaxTokens, "deterministic": o.Deterministic, "seed": o.Seed, "strict": o.Strict,
		"use_instructions": o.ResponsesUseInstructions,
		"tool_choice":      q.choice, "messages": q.messages,
	})
	if err != nil {
		return "", fmt.Errorf("tell a question from others: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// ask gives the answer of a model: the one in the record, or a new one, which is there when this returns.
func (r *run) ask(ctx context.Context, q *question) (*record.Step, error) {
	if most := r.maxSteps(); r.totals.Steps >= most {
		return nil, &llm.BudgetError{What: "max_steps", Limit: int64(most), Used: int64(most)}
	}
	o := r.options()
	hash, err := q.hash(&o)
	if err != nil {
		return nil, err
	}
	if s, ok := r.record.Step(q.phase, q.number, hash); ok {
		return r.answered(s, false)
	}
	options, err := r.runOptions(q, hash)
	if err != nil {
		return nil, err
	}
	result, err := r.exchange(ctx, q, options)
	if err != nil {
		return nil, err
	}
	s := stepOf(q, hash, result)
	s.ConfigHash = r.configHash()
	if err := r.record.AddStep(ctx, s); err != nil {
		return nil, err
	}
	return r.answered(s, true)
}

// runOptions are those of one exchange. It fails with *llm.BudgetError where nothing is left for it.
func (r *run) runOptions(q *question, hash string) (*llm.Options, error) {
	o := r.options()
	options := &llm.Options{
		Deterministic: o.Deterministic, Seed: o.Seed, Lax: o.Strict != nil && !*o.Strict,
		ResponsesUseInstructions: o.ResponsesUseInstructions,
		IdempotencyKey:           fmt.Sprintf("%s.%d.%s.%d.%s", r.turn.ConversationID, r.turn.Number, q.phase, q.number, hash[:12]),
		TraceID:                  r.view.trace, Metadata: o.Metadata, MaxRetries: r.maxRetries(), ToolChoice: q.choice,
		Meter:      r.o.Meter,
		Attributes: r.attributes(),
	}
	b := o.Budget
	if b == nil {
		return options, nil
	}
	options.Budget.Partial = b.OnExceeded == parley.BudgetPartial
	if b.Tokens > 0 {
		options.Budget.Tokens = b.Tokens - r.totals.Usage.TotalTokens
		if options.Budget.Tokens <= 0 {
			return nil, &llm.BudgetError{What: "tokens", Limit: b.Tokens, Used: r.totals.Usage.TotalTokens}
		}
	}
	var err error
	options.Budget.Time, err = r.timeLeft()
	return options, err
}

// timeLeft gives what is left of the budget of time; 0 without one.
func (r *run) timeLeft() (time.Duration, error) {
	b := r.options().Budget
	if b == nil || b.Ms == 0 {
		return 0, nil
	}
	whole := time.Duration(b.Ms) * time.Millisecond
	used := r.totals.earlier + time.Since(r.began)
	if used >= whole {
		return 0, &llm.BudgetError{What: "ms", Limit: b.Ms, Used: used.Milliseconds()}
	}
	return whole - used, nil
}

// timed bounds ctx by the budget of time, whose end it gives as cause.
func (r *run) timed(ctx context.Context) (context.Context, context.CancelFunc, error) {
	left, err := r.timeLeft()
	if err != nil {
		return nil, nil, err
	}
	if left == 0 {
		return ctx, func() {}, nil
	}
	ms := r.options().Budget.Ms
	timed, stop := context.WithTimeoutCause(ctx, left, &llm.BudgetError{What: "ms", Limit: ms, Used: ms})
	return timed, stop, nil
}

// exchange asks the runtime.
func (r *run) exchange(ctx context.Context, q *question, o *llm.Options) (*llm.Result, error) {
	runtime := q.model.runtime
	p, err := runtime.Prepare(ctx, &q.definition, o)
	if err != nil {
		return nil, r.failed(ctx, q, err)
	}
	in := &llm.Input{Messages: q.messages}
	var result *llm.Result
	if r.streams() {
		sink := func(llm.Event) error { return nil }
		if q.live {
			r.speaker.begin()
			sink = r.speaker.hear
		}
		result, err = runtime.RunStream(ctx, p, in, sink)
	} else {
		result, err = runtime.Run(ctx, p, in)
	}
	if result != nil && (errors.Is(err, llm.ErrSchema) || errors.Is(err, llm.ErrBudget)) {
		return result, nil // its words are in the step: see answered, and thread.check
	}
	if err != nil {
		return nil, r.failed(ctx, q, err)
	}
	return result, nil
}

// answered counts a step. One that has passed the budget ends the turn, unless what was said so far is to be the answer.
func (r *run) answered(s *record.Step, fresh bool) (*record.Step, error) {
	r.totals.add(s, fresh)
	b := r.options().Budget
	if s.Status != llm.StatusPartial || b == nil || b.OnExceeded == parley.BudgetPartial {
		return s, nil
	}
	if used := r.totals.Usage.TotalTokens; b.Tokens > 0 && (used > b.Tokens || s.Finish == llm.FinishLength) {
		return nil, &llm.BudgetError{What: "tokens", Limit: b.Tokens, Used: used}
	}
	return nil, &llm.BudgetError{What: "ms", Limit: b.Ms, Used: b.Ms}
}

// failed says what an error of the runtime is to the turn, without the vendor's words, which are for the log.
func (r *run) failed(ctx context.Context, q *question, err error) error {
	var vendor *llm.ProviderError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, llm.ErrBudget):
		return err
	case !errors.As(err, &vendor):
		r.log.Warn("a model cannot be asked", "model", q.model.full, "error", err)
		return &failure{reason: string(llm.CategoryInvalid), text: "The model " + q.model.full +
			" cannot be asked so: see the log of the executor", err: err}
	}
	r.log.Warn("a model has not answered", "model", q.model.full, "category", vendor.Category, "request", vendor.RequestID,
		"error", err)
	text := fmt.Sprintf("The model %s has not answered: %s", q.model.full, vendor.Category)
	if vendor.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", vendor.Status)
	}
	f := &failure{reason: string(vendor.Category), text: text, err: err}
	if f.later = vendor.Retryable || !lasting(vendor.Category); f.later {
		r.log.Debug("the turn may be tried again")
	}
	return f
}

// lasting reports whether a fault will be there next time.
func lasting(c llm.Category) bool {
	return c == llm.CategoryAuthentication || c == llm.CategoryInvalid || c == llm.CategoryNotFound
}

func stepOf(q *question, hash string, r *llm.Result) *record.Step {
	return &record.Step{
		Phase: q.phase, Number: q.number, InputHash: hash, Model: r.Model, Provider: q.model.runtime.Name(),
		Message: r.Message, Refusal: r.Refusal, Finish: r.Finish, Status: r.Status,
		Usage: r.Usage, CostUSD: r.CostUSD, FirstTokenMs: ms(r.Timings.FirstToken), ElapsedMs: ms(r.Elapsed),
		Chunks: r.Timings.Chunks, Retries: r.Timings.Retries,
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
