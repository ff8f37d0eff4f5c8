package llm

import (
	"fmt"
	"slices"
	"time"
)

// result makes of a response what the run gives, and holds it against budget and schema.
func (x *run) result(resp *Response) (*Result, error) {
	calls, opaque := slices.Clone(resp.ToolCalls), resp.Opaque
	for i := range calls {
		if id := x.ids.of(i, calls[i].ID); id != calls[i].ID {
			calls[i].ID, opaque = id, nil // which has the vendor's
		}
	}
	r := &Result{
		Content: resp.Text, ToolCalls: calls, Refusal: resp.Refusal, Status: StatusComplete, Finish: resp.Finish,
		Model:   resp.Model,
		Timings: x.timings, ProviderMetadata: resp.Metadata, TraceID: x.req.TraceID,
		Message: Message{Role: RoleAssistant, Text: resp.Text, ToolCalls: calls, Opaque: opaque},
	}
	if r.Model == "" {
		r.Model = x.req.Model
	}
	x.account(r, resp.Usage)
	if over := x.over(r); over != nil {
		return x.cut(r, over)
	}
	if x.p.schema == nil || len(calls) > 0 || r.Refusal != "" || r.Finish == FinishRefusal {
		return r, nil
	}
	var err error
	r.JSON, err = x.p.checked(r.Content)
	return r, err
}

// account adds what it has cost, with what attempts that broke off have. A vendor that has told no usage is counted.
func (x *run) account(r *Result, told *Usage) {
	if told != nil {
		r.Usage = *told
	} else {
		r.Usage = estimate(x.req, &r.Message, r.Refusal)
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

// over is what of the budget a whole answer has passed; nil, nothing.
func (x *run) over(r *Result) *BudgetError {
	limit, used := x.p.options.Budget.Tokens, r.Usage.TotalTokens
	if limit > 0 && (used > limit || x.bounded && r.Finish == FinishLength) {
		return &BudgetError{What: "tokens", Limit: limit, Used: used}
	}
	if most := x.p.options.MaxToolCalls; most > 0 && len(r.ToolCalls) > most {
		return &BudgetError{What: "max_tool_calls", Limit: int64(most), Used: int64(len(r.ToolCalls))}
	}
	return nil
}

// cut makes a result of an answer that has passed the budget: with Budget.Partial what fits, else the error and what came. Of too many calls of tools the first are kept. Calls of an answer that has passed the tokens are
// not: nobody will go on from them. What only the provider reads tells of all calls, so it goes where calls go.
func (x *run) cut(r *Result, over *BudgetError) (*Result, error) {
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

// exceeded makes a result of a call that the run itself has ended. Without Budget.Partial, or where nothing has come, it is an error.
func (x *run) exceeded(over *BudgetError) (*Result, error) {
	text := x.teller.text()
	r := &Result{
		Content: text, Status: StatusPartial, Finish: FinishOther, Model: x.req.Model, Timings: x.timings,
		TraceID: x.req.TraceID,
		Message: Message{Role: RoleAssistant, Text: text},
	}
	if over.What == "tokens" {
		r.Finish = FinishLength
	}
	usage := x.usage()
	x.account(r, &usage)
	if text == "" || !x.p.options.Budget.Partial {
		return r, over
	}
	return r, nil
}

// callIDs gives each call of a tool an id that is the only one of its conversation: the vendor's, or where that is missing or taken one that is the same however often the same is asked.
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

func (ids *callIDs) of(call int, told string) string {
	if id, ok := ids.byCall[call]; ok {
		return id
	}
	id := told
	for id == "" || ids.taken[id] {
		ids.next++
		id = fmt.Sprintf("call_%d", ids.next)
	}
	ids.taken[id], ids.byCall[call] = true, id
	return id
}
