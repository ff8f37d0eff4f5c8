package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// question is the request to a model in one step.
type question struct {
	phase      record.Phase
	number     int
	model      *model
	definition llm.Definition
	choice     llm.ToolChoice
	messages   []llm.Message
	live       bool
	fallback   string // the model that is asked if this one fails
}

// hash identifies a question. Budgets and ids are not part of it.
func (q *question) hash(o *parley.AgentRunOptions) (string, error) {
	d := &q.definition
	b, err := json.Marshal(map[string]any{
		"model": q.model.full, "instructions": d.Instructions, "tools": d.Tools, "output_schema": d.OutputSchema,
		"temperature": d.Temperature, "top_p": d.TopP, "parameters": d.Parameters,
		"max_tokens": d.MaxTokens, "deterministic": o.Deterministic, "seed": o.Seed, "strict": o.Strict,
		"use_instructions": o.ResponsesUseInstructions,
		"tool_choice":      q.choice, "messages": q.messages,
	})
	if err != nil {
		return "", fmt.Errorf("hash the question: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// ask returns the answer of a model. It is the recorded step if there is one. Otherwise ask calls
// the model and records the step before it returns.
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
		return r.countStep(s, false)
	}
	result, answered, err := r.askModels(ctx, q, hash)
	if err != nil {
		return nil, err
	}
	s := stepOf(answered, hash, result)
	s.ConfigHash = r.configHash()
	if err := r.record.AddStep(ctx, s); err != nil {
		return nil, err
	}
	return r.countStep(s, true)
}

// askModels asks the model of a question, and its fallbacks after a failure that another model may
// not have. A model that failed is not asked again in this attempt. It returns the question of the
// model that answered.
func (r *run) askModels(ctx context.Context, q *question, hash string) (*llm.Result, *question, error) {
	all := slices.DeleteFunc(append([]*model{q.model}, r.fallbacks...), func(m *model) bool { return r.gaveUp[m.full] })
	if len(all) == 0 {
		all = []*model{q.model}
	}
	for i, m := range all {
		own := *q
		own.model, own.definition.Model = m, m.name
		if i+1 < len(all) {
			own.fallback = all[i+1].full
		}
		key := hash
		if m != q.model { // a vendor refuses an idempotency key that it knows from another request
			o := r.options()
			var err error
			if key, err = own.hash(&o); err != nil {
				return nil, nil, err
			}
		}
		options, err := r.runOptions(&own, key)
		if err != nil {
			return nil, nil, err
		}
		result, err := r.exchange(ctx, &own, hash, options)
		var f *failure
		if err == nil || own.fallback == "" || !errors.As(err, &f) || !isOfModel(f) {
			return result, &own, err
		}
		r.gaveUp[m.full] = true
		r.log.Warn("a fallback is asked", "model", m.full, "fallback", own.fallback)
	}
	return nil, nil, nil // not reached: the last model has no fallback
}

// isOfModel reports whether another model may not fail in the same way. The request itself is at
// fault in the other cases.
func isOfModel(f *failure) bool {
	switch llm.Category(f.reason) {
	case llm.CategoryInvalid, llm.CategoryContext, llm.CategoryFilter:
		return false
	}
	return errors.Is(f.err, llm.ErrProvider)
}

// runOptions returns the options of one exchange. It fails with *llm.BudgetError if the budget is
// used up.
func (r *run) runOptions(q *question, hash string) (*llm.Options, error) {
	o := r.options()
	options := &llm.Options{
		Deterministic: o.Deterministic, Seed: o.Seed, Lax: o.Strict != nil && !*o.Strict,
		ResponsesUseInstructions: o.ResponsesUseInstructions,
		IdempotencyKey:           fmt.Sprintf("%s.%d.%s.%d.%s", r.turn.ConversationID, r.turn.Number, q.phase, q.number, hash[:12]),
		TraceID:                  r.view.trace, Metadata: o.Metadata, MaxRetries: r.maxRetries(), ToolChoice: q.choice,
		IdleTimeout: duration(o.IdleTimeout), RequestTimeout: duration(o.RequestTimeout),
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

// duration returns a duration of the config, or 0 if it is absent.
func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // the config was checked
	return d
}

// timeLeft returns the rest of the time budget. It is 0 without a budget.
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

// limitTime returns a context with the deadline of the time budget. Its cause is an
// *llm.BudgetError.
func (r *run) limitTime(ctx context.Context) (context.Context, context.CancelFunc, error) {
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

// exchange calls the runtime. It records a failed call.
func (r *run) exchange(ctx context.Context, q *question, hash string, o *llm.Options) (*llm.Result, error) {
	if err := r.waitForVendor(ctx, q.model); err != nil {
		return nil, err
	}
	runtime := q.model.runtime
	p, err := runtime.Prepare(ctx, &q.definition, o)
	if err != nil {
		return nil, r.toFailure(ctx, q, err)
	}
	in := &llm.Input{Messages: q.messages}
	var result *llm.Result
	if r.streams() {
		sink := func(llm.Event) error { return nil }
		if q.live {
			r.deltas.startText()
			sink = r.deltas.handleEvent
		}
		result, err = runtime.RunStream(ctx, p, in, sink)
	} else {
		result, err = runtime.Run(ctx, p, in)
	}
	if result != nil && (errors.Is(err, llm.ErrSchema) || errors.Is(err, llm.ErrBudget)) {
		return result, nil // the step has the answer; see countStep and thread.check
	}
	if err == nil {
		return result, nil
	}
	if rerr := r.recordFailure(ctx, q, hash, result, err); rerr != nil {
		return nil, rerr
	}
	return nil, r.toFailure(ctx, q, err)
}

// recordFailure records a failed call, so that its usage counts in this attempt and in later ones.
// A call that was canceled with its turn cannot be recorded.
func (r *run) recordFailure(ctx context.Context, q *question, hash string, result *llm.Result, err error) error {
	if result == nil {
		return nil
	}
	f := &record.CallFailed{
		Phase: q.phase, Number: q.number, InputHash: hash, Model: q.model.full, Category: llm.CategoryTimeout,
		Usage: result.Usage, CostUSD: result.CostUSD, ElapsedMs: ms(result.Elapsed), Chunks: result.Timings.Chunks,
		Retries: result.Timings.Retries, Fallback: q.fallback,
	}
	var vendor *llm.ProviderError
	switch {
	case errors.As(err, &vendor):
		f.Category, f.Status, f.Code, f.RequestID = vendor.Category, vendor.Status, vendor.Code, vendor.RequestID
		f.Error = vendor.Detail()
		if vendor.RetryAfter > 0 {
			f.RetryAtMs = time.Now().Add(vendor.RetryAfter).UnixMilli()
		}
	case errors.Is(context.Cause(ctx), errTimeout):
		f.Error = errTimeout.Error()
		ctx = context.WithoutCancel(ctx)
	default:
		return nil
	}
	r.totals.addFailure(f, true)
	r.retryAt[f.Model] = f.RetryAtMs
	return r.record.AddTrace(ctx, record.KindCallFailed, f.Error, f)
}

// readFailures counts the failed calls of earlier attempts.
func (r *run) readFailures() {
	r.retryAt, r.gaveUp = map[string]int64{}, map[string]bool{}
	for _, raw := range r.record.Traces(record.KindCallFailed) {
		var f record.CallFailed
		if json.Unmarshal(raw, &f) == nil {
			r.totals.addFailure(&f, false)
			r.retryAt[f.Model] = f.RetryAtMs
		}
	}
}

// waitForVendor waits until the vendor of a model allows the next call, as it asked in its last
// failure. That may have been in an earlier attempt.
func (r *run) waitForVendor(ctx context.Context, m *model) error {
	pause := min(time.Until(time.UnixMilli(r.retryAt[m.full])), llm.MaxRetryAfter)
	if r.retryAt[m.full] == 0 || pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// longestPause returns how long a turn can wait for a vendor: at most MaxRetryAfter, and at most
// the whole time of an attempt.
func (r *run) longestPause(ctx context.Context) time.Duration {
	longest := llm.MaxRetryAfter
	if deadline, ok := ctx.Deadline(); ok {
		longest = min(longest, deadline.Sub(r.began))
	}
	if b := r.options().Budget; b != nil && b.Ms > 0 {
		longest = min(longest, time.Duration(b.Ms)*time.Millisecond)
	}
	return longest
}

// countStep adds a step to the totals. It fails if the step exceeds the budget, unless the text so
// far is to be the answer.
func (r *run) countStep(s *record.Step, fresh bool) (*record.Step, error) {
	r.totals.addStep(s, fresh)
	b := r.options().Budget
	if s.Status != llm.StatusPartial || b == nil || b.OnExceeded == parley.BudgetPartial {
		return s, nil
	}
	if used := r.totals.Usage.TotalTokens; b.Tokens > 0 && (used > b.Tokens || s.Finish == llm.FinishLength) {
		return nil, &llm.BudgetError{What: "tokens", Limit: b.Tokens, Used: used}
	}
	return nil, &llm.BudgetError{What: "ms", Limit: b.Ms, Used: b.Ms}
}

// toFailure converts an error of the runtime to an error of the turn. The text of the vendor is part
// of it, without keys.
func (r *run) toFailure(ctx context.Context, q *question, err error) error {
	var vendor *llm.ProviderError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, llm.ErrBudget):
		return err
	case !errors.As(err, &vendor):
		r.log.Warn("the request to a model is invalid", "model", q.model.full, "error", err)
		return &failure{reason: string(llm.CategoryInvalid), text: "The request to the model " + q.model.full +
			" is invalid; see the log of the executor", err: err}
	}
	r.log.Warn("a model call failed", "model", q.model.full, "category", vendor.Category, "code", vendor.Code,
		"request", vendor.RequestID, "error", err)
	text := fmt.Sprintf("The call of the model %s failed: %s", q.model.full, vendor.Category)
	if detail := vendor.Detail(); detail != "" {
		text += ": " + detail
	}
	f := &failure{reason: string(vendor.Category), text: text, err: err, later: mayRecover(vendor)}
	if f.later && vendor.RetryAfter >= r.longestPause(ctx) {
		f.later = false
		f.text += fmt.Sprintf(" (the vendor wants no call for %s)", vendor.RetryAfter)
	}
	return f
}

// mayRecover reports whether another attempt of the turn may succeed.
func mayRecover(e *llm.ProviderError) bool {
	switch e.Category {
	case llm.CategoryServer, llm.CategoryTimeout, llm.CategoryNetwork, llm.CategoryMalformed:
		return true
	}
	return e.Retryable
}

func stepOf(q *question, hash string, r *llm.Result) *record.Step {
	return &record.Step{
		Phase: q.phase, Number: q.number, InputHash: hash, Model: r.Model, Provider: q.model.runtime.Name(),
		Message: r.Message, Refusal: r.Refusal, Finish: r.Finish, Status: r.Status,
		Usage: r.Usage, CostUSD: r.CostUSD, FirstTokenMs: ms(r.Timings.FirstToken), ElapsedMs: ms(r.Elapsed),
		Chunks: r.Timings.Chunks, Retries: r.Timings.Retries,
		ResponseID: r.ProviderMetadata[llm.MetadataResponseID], RequestID: r.ProviderMetadata[llm.MetadataRequestID],
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
