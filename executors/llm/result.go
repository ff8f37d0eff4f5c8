package llm

import (
	"fmt"
	"slices"
	"time"
)

// result converts a response to the result of the run, and checks it against budget and schema.
func (x *run) result(resp *Response) (*Result, error) {
	calls := slices.Clone(resp.ToolCalls)
	for i := range calls {
		calls[i].ID = x.ids.assign(i, calls[i].ID)
	}
	r := &Result{
		Content: resp.Text, ToolCalls: calls, Refusal: resp.Refusal, Reasoning: resp.Reasoning, Status: StatusComplete,
		Finish: resp.Finish, Model: resp.Model,
		Timings: x.timings, ProviderMetadata: resp.Metadata, TraceID: x.req.TraceID,
		Message: Message{Role: RoleAssistant, Text: resp.Text, ToolCalls: calls, Opaque: resp.Opaque},
	}
	if r.Model == "" {
		r.Model = x.req.Model
	}
	x.account(r, resp.Usage)
	if over := x.exceededBudget(r); over != nil {
		return x.cutResult(r, over)
	}
	if x.p.schema == nil || len(calls) > 0 || r.Refusal != "" || r.Finish == FinishRefusal {
		return r, nil
	}
	var err error
	r.JSON, err = x.p.checkOutput(r.Content)
	return r, err
}

// account sets usage, cost and duration, including broken attempts. If the vendor reported no
// usage, it is estimated.
func (x *run) account(r *Result, reported *Usage) {
	if reported != nil {
		r.Usage = *reported
	} else {
		r.Usage = estimate(x.req, &r.Message, r.Refusal+r.Reasoning)
	}
	if r.Usage.TotalTokens == 0 {
		r.Usage.TotalTokens = r.Usage.PromptTokens + r.Usage.CompletionTokens
	}
	if x.spent.TotalTokens > 0 {
		r.Usage.Add(x.spent)
	}
	if p := x.p.can.Price; p != nil {
		cost := p.cost(r.Usage)
		r.CostUSD = &cost
	}
	r.Elapsed = time.Since(x.began)
}

// exceededBudget returns the part of the budget that a whole answer exceeds, or nil.
func (x *run) exceededBudget(r *Result) *BudgetError {
	limit, used := x.p.options.Budget.Tokens, r.Usage.TotalTokens
	if limit > 0 && (used > limit || x.bounded && r.Finish == FinishLength) {
		return &BudgetError{What: "tokens", Limit: limit, Used: used}
	}
	if most := x.p.options.MaxToolCalls; most > 0 && len(r.ToolCalls) > most {
		return &BudgetError{What: "max_tool_calls", Limit: int64(most), Used: int64(len(r.ToolCalls))}
	}
	return nil
}

// cutResult returns the result of an answer over budget. With Budget.Partial it is the part within
// the budget, without an error. Of too many tool calls it keeps the first ones. It drops all calls
// of an answer over the token budget, because no round follows. Opaque data describes all calls, so
// it is dropped together with any call.
func (x *run) cutResult(r *Result, over *BudgetError) (*Result, error) {
	r.Status = StatusPartial
	if !x.p.options.Budget.Partial {
		return r, over
	}
	keep := 0
	if over.What == "max_tool_calls" {
		keep = int(over.Limit)
	}
	if len(r.ToolCalls) > keep {
		r.ToolCalls = slices.Clip(r.ToolCalls[:keep])
		r.Message.ToolCalls, r.Message.Opaque = r.ToolCalls, nil
	}
	return r, nil
}

// partialResult returns the result of a call that the run itself ended. Without Budget.Partial, or
// without any text, it also returns the error.
func (x *run) partialResult(over *BudgetError) (*Result, error) {
	text := x.stream.text()
	r := &Result{
		Content: text, Status: StatusPartial, Finish: FinishOther, Model: x.req.Model, Timings: x.timings,
		TraceID: x.req.TraceID,
		Message: Message{Role: RoleAssistant, Text: text},
	}
	if over.What == "tokens" {
		r.Finish = FinishLength
	}
	x.account(r, &Usage{Estimated: true})
	if text == "" || !x.p.options.Budget.Partial {
		return r, over
	}
	return r, nil
}

// failedResult returns the usage and the timings of a run without an answer.
func (x *run) failedResult() *Result {
	r := &Result{Model: x.req.Model, Timings: x.timings, TraceID: x.req.TraceID}
	x.account(r, &Usage{})
	return r
}

// callIDs assigns each tool call an id that is unique in its conversation. It uses the id of the
// vendor. If that is missing or taken, the id is the same for every repetition of the same request.
type callIDs struct {
	taken  map[string]bool
	next   int
	byCall map[int]string
}

func newCallIDs(req *Request) *callIDs {
	ids := &callIDs{taken: map[string]bool{}, byCall: map[int]string{}}
	for i := range req.Messages {
		for _, c := range req.Messages[i].ToolCalls {
			ids.taken[c.ID] = true
			ids.next++
		}
	}
	return ids
}

func (ids *callIDs) assign(call int, vendorID string) string {
	if id, ok := ids.byCall[call]; ok {
		return id
	}
	id := vendorID
	for id == "" || ids.taken[id] {
		ids.next++
		id = fmt.Sprintf("call_%d", ids.next)
	}
	ids.taken[id], ids.byCall[call] = true, id
	return id
}
