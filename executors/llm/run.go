package llm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// run is one run of a Prepared, whether it is streamed or not.
//
//	start -> attempt -> the provider's call -> chunks -> teller -> sink
//	            ^            |
//	            +-- pause <--+ an error that is retryable
type run struct {
	runtime *Runtime
	p       *Prepared
	req     *Request
	ids     *callIDs
	began   time.Time
	prompt  int64 // estimated tokens
	most    int   // what the definition leaves of MaxTokens; 0, all
	// bounded is true where MaxTokens is what the budget leaves. spent is what attempts that broke off have come to, as estimated.
	bounded bool
	spent   Usage
	timings Timings

	teller *teller // nil, nothing is streamed
	said   counter // of this attempt
	stop   error   // why the run itself has ended a call: its budget, or its sink
}

func (r *Runtime) run(ctx context.Context, p *Prepared, in *Input, sink Sink) (*Result, error) {
	req, err := p.ask(in)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.Name(), err)
	}
	x := &run{runtime: r, p: p, req: req, began: time.Now(), prompt: promptTokens(req), most: req.MaxTokens}
	if sink != nil {
		x.teller = &teller{sink: sink, every: p.options.Streaming.Every, base: Event{
			StreamID: rand.Text(), Provider: r.Name(), Model: req.Model, IsJSON: p.schema != nil,
		}}
	}
	ctx, span := x.startSpan(ctx)
	defer span.End()
	result, err := x.exchange(ctx)
	x.tellSpan(ctx, span, result, err)
	return result, err
}

// exchange makes the run, and tells the beginning and the end of its stream.
func (x *run) exchange(ctx context.Context) (*Result, error) {
	if err := x.teller.tell(Event{Type: EventStart}); err != nil {
		return nil, err
	}
	result, err := x.within(ctx)
	x.p.options.Meter.call(x.runtime.Name(), x.req.Model, outcome(result, err), result, x.timings.Retries)
	return result, x.close(result, err)
}

// close tells the end of a stream.
func (x *run) close(result *Result, err error) error {
	if x.teller == nil || x.teller.failed != nil {
		return err
	}
	usage := x.usage()
	usage.Add(x.spent)
	if result != nil {
		usage = result.Usage
	}
	last := Event{Type: EventComplete, Result: result}
	if err != nil {
		last = Event{Type: EventError, Err: err}
	}
	for _, e := range []Event{{Type: EventUsage, Usage: &usage}, last} {
		if failed := x.teller.tell(e); failed != nil {
			return failed
		}
	}
	return err
}

// within bounds the run by its budget.
func (x *run) within(ctx context.Context) (*Result, error) {
	if !x.fit() {
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
	case x.teller.hasFailed():
		return nil, x.teller.failed
	case errors.As(x.stop, &over):
		return x.exceeded(over)
	case late != nil && context.Cause(budgeted) == error(late):
		return x.exceeded(late)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return nil, ctx.Err()
	}
	return nil, err
}

// fit bounds what the model says by what the budget leaves, and reports whether that is as much as the model may be asked for.
func (x *run) fit() bool {
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
		if x.stop != nil || ctx.Err() != nil || !x.again(err) {
			return nil, err
		}
		if !pauses.wait(ctx, err) {
			return nil, err
		}
		x.timings.Retries++
	}
}

// again reports whether a call that has failed is made once more.
func (x *run) again(err error) bool {
	var failed *ProviderError
	if !errors.As(err, &failed) || !failed.Retryable || x.timings.Retries >= x.p.options.MaxRetries {
		return false
	}
	if x.said.tokens > 0 {
		x.spent.Add(x.usage())
		x.said = counter{}
	}
	if !x.fit() {
		x.stop = &BudgetError{What: "tokens", Limit: x.p.options.Budget.Tokens, Used: x.spent.TotalTokens}
		return false
	}
	return true
}

// attempt makes one call.
func (x *run) attempt(ctx context.Context) (*Response, error) {
	x.ids, x.said = newCallIDs(x.req), counter{}
	if x.teller == nil {
		return x.runtime.provider.Call(ctx, x.req, nil)
	}
	x.teller.begin()
	resp, err := x.call(ctx)
	if err == nil && x.stop == nil {
		return resp, x.teller.end()
	}
	if failed := x.teller.flush(); failed != nil {
		return nil, failed
	}
	if x.stop != nil {
		return nil, x.stop
	}
	return nil, err
}

// chunk takes a piece of a stream.
func (x *run) chunk(c Chunk) error {
	if x.timings.Chunks == 0 {
		x.timings.FirstToken = max(time.Since(x.began), 1)
	}
	x.timings.Chunks++
	x.said.add(c.Text)
	x.said.add(c.Refusal)
	p, told := piece{call: textPiece, body: []byte(c.Text)}, c.Text != ""
	if t := c.ToolCall; t != nil {
		p, told = piece{call: t.Index, name: t.Name, body: []byte(t.Arguments)}, true
		if t.Name != "" {
			p.id = x.ids.of(t.Index, t.ID)
		}
		x.said.add(t.Name)
		x.said.add(t.Arguments)
	}
	if told {
		if x.stop = x.teller.add(p); x.stop != nil {
			return x.stop
		}
	}
	used := x.spent.TotalTokens + x.prompt + x.said.tokens
	if limit := x.p.options.Budget.Tokens; limit > 0 && used > limit {
		x.stop = &BudgetError{What: "tokens", Limit: limit, Used: used}
	}
	return x.stop
}

// usage is what an attempt that has no Response has come to: nothing where the model has said nothing.
func (x *run) usage() Usage {
	if x.said.tokens == 0 {
		return Usage{Estimated: true}
	}
	return Usage{PromptTokens: x.prompt, CompletionTokens: x.said.tokens, TotalTokens: x.prompt + x.said.tokens,
		Estimated: true}
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
