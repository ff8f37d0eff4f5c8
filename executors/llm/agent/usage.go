package agent

import (
	"context"
	"slices"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// totals has the usage of a whole turn. It is the data of an llm_usage trace.
type totals struct {
	// Status is the outcome of the turn: completed, partial, refusal, or the reason of a failure.
	Status string    `json:"status"`
	Usage  llm.Usage `json:"usage"`
	// CostUSD counts only models with a configured price.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// FirstTokenMs is the time to the first token of the first streamed step.
	FirstTokenMs float64  `json:"ttft_ms,omitempty"`
	ElapsedMs    float64  `json:"elapsed_ms"`
	Chunks       int      `json:"chunks"`
	ToolsInvoked int      `json:"tools_invoked"`
	Steps        int      `json:"agent_loop_iters"`
	Retries      int      `json:"retry_count"`
	FailedCalls  int      `json:"failed_calls,omitempty"`
	Compactions  int      `json:"compactions,omitempty"`
	Models       []string `json:"models"`

	earlier time.Duration // duration of the steps and tools of earlier attempts
	fresh   int           // steps of this attempt
}

// addStep counts a step. fresh is false for a step of an earlier attempt.
func (t *totals) addStep(s *record.Step, fresh bool) {
	t.addExchange(s.Usage, s.CostUSD, s.ElapsedMs, s.Chunks, s.Retries, fresh)
	if t.FirstTokenMs == 0 {
		t.FirstTokenMs = s.FirstTokenMs
	}
	t.Steps++
	if fresh {
		t.fresh++
	}
	if !slices.Contains(t.Models, s.Model) {
		t.Models = append(t.Models, s.Model)
	}
}

// addFailure counts a failed exchange.
func (t *totals) addFailure(f *record.CallFailed, fresh bool) {
	t.addExchange(f.Usage, f.CostUSD, f.ElapsedMs, f.Chunks, f.Retries, fresh)
	t.FailedCalls++
}

func (t *totals) addExchange(u llm.Usage, cost *float64, elapsedMs float64, chunks, retries int, fresh bool) {
	t.Usage.Add(u)
	if cost != nil {
		sum := *cost
		if t.CostUSD != nil {
			sum += *t.CostUSD
		}
		t.CostUSD = &sum
	}
	t.ElapsedMs += elapsedMs
	t.Chunks += chunks
	t.Retries += retries
	if !fresh {
		t.earlier += time.Duration(elapsedMs * float64(time.Millisecond))
	}
}

// recordUsage writes an llm_usage trace.
func (r *run) recordUsage(ctx context.Context, status string) error {
	r.totals.Status, r.totals.Compactions = status, r.compactions
	r.o.Meter.Turn(status, r.totals.fresh)
	return r.record.AddTrace(ctx, record.KindUsage, "", &r.totals)
}
