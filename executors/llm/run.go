package llm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// run is one run of a Prepared, streamed or not.
//
//	start -> attempt -> provider.Call -> chunks -> stream -> sink
//	            ^            |
//	            +-- pause <--+ an error that is retryable
type run struct {
	runtime *Runtime
	p       *Prepared
	req     *Request
	ids     *callIDs
	began   time.Time
	prompt  int64 // estimated tokens of the prompt
	most    int   // MaxTokens of the definition; 0 is no limit
	// bounded is true if the budget determines MaxTokens. spent is the usage of failed attempts.
	bounded bool
	spent   Usage
	tried   int // attempts
	timings Timings

	stream *stream // nil without a stream
	said   counter // output of this attempt
	stop   error   // error of the budget or the sink, for which the run ended a call
}

func (r *Runtime) run(ctx context.Context, p *Prepared, in *Input, sink Sink) (*Result, error) {
	req, err := p.newRequest(in)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.Name(), err)
	}
	if req.IdleTimeout == 0 && sink != nil {
		req.IdleTimeout = DefaultIdleTimeout
	}
	x := &run{runtime: r, p: p, req: req, began: time.Now(), prompt: promptTokens(req), most: req.MaxTokens}
	if sink != nil {
		x.stream = &stream{sink: sink, every: p.options.Streaming.Every, base: Event{
			StreamID: rand.Text(), Provider: r.Name(), Model: req.Model, IsJSON: p.schema != nil,
		}}
	}
	ctx, span := x.startSpan(ctx)
	defer span.End()
	result, err := x.exchange(ctx)
	x.setSpanResult(ctx, span, result, err)
	return result, err
}

// exchange makes the run, and sends the first and the last events of its stream.
func (x *run) exchange(ctx context.Context) (*Result, error) {
	if err := x.stream.send(Event{Type: EventStart}); err != nil {
		return nil, err
	}
	result, err := x.runWithinBudget(ctx)
	if err != nil && result == nil && x.tried > 0 {
		result = x.failedResult()
	}
	x.p.options.Meter.call(x.runtime.Name(), x.req.Model, outcome(result, err), result, x.timings.Retries)
	return result, x.close(result, err)
}

// close sends the last events of a stream.
func (x *run) close(result *Result, err error) error {
	if x.stream == nil || x.stream.failed != nil {
		return err
	}
	usage := x.spent
	if result != nil {
		usage = result.Usage
	}
	last := Event{Type: EventComplete, Result: result}
	if err != nil {
		last = Event{Type: EventError, Err: err}
	}
	for _, e := range []Event{{Type: EventUsage, Usage: &usage}, last} {
		if failed := x.stream.send(e); failed != nil {
			return failed
		}
	}
	return err
}

// runWithinBudget makes the attempts within the budget.
func (x *run) runWithinBudget(ctx context.Context) (*Result, error) {
	if !x.limitMaxTokens() {
		return nil, &BudgetError{What: "tokens", Limit: x.p.options.Budget.Tokens, Used: x.prompt}
	}
	budgeted, late := ctx, (*BudgetError)(nil)
	if limit := x.p.options.Budget.Time; limit > 0 {
		late = &BudgetError{What: "ms", Limit: limit.Milliseconds(), Used: limit.Milliseconds()}
		var cancel context.CancelFunc
		budgeted, cancel = context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
	}
	result, err := x.attempts(budgeted)
	switch over := (*BudgetError)(nil); {
	case err == nil || result != nil:
		return result, err
	case x.stream.hasFailed():
		return nil, x.stream.failed
	case errors.As(x.stop, &over):
		return x.partialResult(over)
	case late != nil && context.Cause(budgeted) == error(late):
		return x.partialResult(late)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return nil, ctx.Err()
	}
	return nil, err
}

// limitMaxTokens sets MaxTokens to the rest of the budget if that is smaller. It reports whether
// the rest is enough for an answer.
func (x *run) limitMaxTokens() bool {
	limit := x.p.options.Budget.Tokens
	if limit == 0 {
		return true
	}
	left := limit - x.spent.TotalTokens - x.prompt
	x.req.MaxTokens, x.bounded = x.most, false
	if x.most == 0 || int64(x.most) > left {
		x.req.MaxTokens, x.bounded = int(left), true
	}
	return left >= int64(max(1, x.p.can.MinOutputTokens))
}

func (x *run) attempts(ctx context.Context) (*Result, error) {
	pauses := x.p.options.Retry.pauses()
	for {
		resp, err := x.attempt(ctx)
		if err == nil {
			return x.result(resp)
		}
		if x.stop != nil || ctx.Err() != nil || !x.prepareRetry(err) {
			return nil, err
		}
		if !pauses.wait(ctx, err) {
			return nil, err
		}
		x.timings.Retries++
	}
}

// prepareRetry reports whether a failed call is retried.
func (x *run) prepareRetry(err error) bool {
	var failed *ProviderError
	if !errors.As(err, &failed) || !failed.Retryable || x.timings.Retries >= x.p.options.MaxRetries {
		return false
	}
	if !x.limitMaxTokens() {
		x.stop = &BudgetError{What: "tokens", Limit: x.p.options.Budget.Tokens, Used: x.spent.TotalTokens}
		return false
	}
	return true
}

// attempt makes one call. It adds the usage of a failed one to spent.
func (x *run) attempt(ctx context.Context) (resp *Response, err error) {
	x.ids, x.said = newCallIDs(x.req), counter{}
	x.tried++
	defer func() {
		if err != nil {
			x.spent.Add(x.lostUsage(err))
			x.said = counter{}
		}
	}()
	if x.stream == nil {
		return x.callProvider(ctx, nil)
	}
	x.stream.startAttempt()
	resp, err = x.call(ctx)
	if err == nil && x.stop == nil {
		return resp, x.stream.finishAttempt()
	}
	if failed := x.stream.flush(); failed != nil {
		return nil, failed
	}
	if x.stop != nil {
		return nil, x.stop
	}
	return nil, err
}

// chunk handles a chunk of a stream.
func (x *run) chunk(c Chunk) error {
	if x.timings.Chunks == 0 {
		x.timings.FirstToken = max(time.Since(x.began), 1)
	}
	x.timings.Chunks++
	x.said.add(c.Text)
	x.said.add(c.Refusal)
	x.said.add(c.Reasoning)
	p, sends := piece{call: textPiece, body: []byte(c.Text)}, c.Text != ""
	if t := c.ToolCall; t != nil {
		p, sends = piece{call: t.Index, name: t.Name, body: []byte(t.Arguments)}, true
		if t.Name != "" {
			p.id = x.ids.assign(t.Index, t.ID)
		}
		x.said.add(t.Name)
		x.said.add(t.Arguments)
	}
	if sends {
		if x.stop = x.stream.addPiece(p); x.stop != nil {
			return x.stop
		}
	}
	used := x.spent.TotalTokens + x.prompt + x.said.tokens
	if limit := x.p.options.Budget.Tokens; limit > 0 && used > limit {
		x.stop = &BudgetError{What: "tokens", Limit: limit, Used: used}
	}
	return x.stop
}

// lostUsage returns the usage of an attempt that failed: what the vendor reported, or else an
// estimate. The prompt counts if the model sent anything, and if no answer came in time, because
// the vendor may have worked on it. A call that the vendor refused is free.
func (x *run) lostUsage(err error) Usage {
	u := Usage{CompletionTokens: x.said.tokens, Estimated: true}
	var failed *ProviderError
	switch {
	case errors.As(err, &failed) && failed.Usage != nil:
		u = *failed.Usage
		if x.said.tokens > u.CompletionTokens {
			u.CompletionTokens, u.Estimated = x.said.tokens, true
		}
	case x.said.tokens > 0, errors.Is(err, context.DeadlineExceeded),
		failed != nil && failed.Category == CategoryTimeout && failed.Status == 0:
		u.PromptTokens = x.prompt
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

func outcome(r *Result, err error) string {
	var failed *ProviderError
	switch {
	case err == nil:
		return string(r.Status)
	case errors.As(err, &failed):
		return string(failed.Category)
	case errors.Is(err, ErrSchema):
		return ErrSchema.Error()
	case errors.Is(err, ErrBudget):
		return ErrBudget.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	}
	return Other
}
