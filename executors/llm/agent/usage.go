package agent

import (
	"context"
	"slices"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// totals are of a whole turn, and the data of llm_usage.
type totals struct {
	// Status is how the turn has ended: completed, partial, refusal, or the reason of a failure.
	Status string    `json:"status"`
	Usage  llm.Usage `json:"usage"`
	// CostUSD is of the models whose price is configured.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// FirstTokenMs is that of the first step that was streamed.
	FirstTokenMs float64  `json:"ttft_ms,omitempty"`
	ElapsedMs    float64  `json:"elapsed_ms"`
	Chunks       int      `json:"chunks"`
	ToolsInvoked int      `json:"tools_invoked"`
	Steps        int      `json:"agent_loop_iters"`
	Retries      int      `json:"retry_count"`
	Compactions  int      `json:"compactions,omitempty"`
	Models       []string `json:"models"`

	earlier time.Duration // what the steps and tools of earlier attempts have taken
	asked   int           // steps of this attempt
}

// add counts a step; fresh is false for one of an earlier attempt.
func (t *totals) add(s *record.Step, fresh bool) {
	t.Usage.Add(s.Usage)
	if s.CostUSD != nil {
		sum := *s.CostUSD
		if t.CostUSD != nil {
			sum += *t.CostUSD
		}
		t.CostUSD = &sum
	}
	if t.FirstTokenMs == 0 {
		t.FirstTokenMs = s.FirstTokenMs
	}
	t.ElapsedMs += s.ElapsedMs
	t.Chunks += s.Chunks
	t.Retries += s.Retries
	t.Steps++
	if fresh {
		t.asked++
	} else {
		t.earlier += time.Duration(s.ElapsedMs * float64(time.Millisecond))
	}
	if !slices.Contains(t.Models, s.Model) {
		t.Models = append(t.Models, s.Model)
	}
}

// tellUsage writes llm_usage.
func (r *run) tellUsage(ctx context.Context, status string) error {
	r.totals.Status, r.totals.Compactions = status, r.compactions
	r.o.Meter.Turn(status, r.totals.asked)
	return r.record.Say(ctx, record.KindUsage, "", &r.totals)
}
