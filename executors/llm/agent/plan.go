package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// planData is the data of an llm_plan trace.
type planData struct {
	Model string    `json:"model"`
	Steps int       `json:"steps"`
	Usage llm.Usage `json:"usage"`
	// InputHash is the hash of the step with the plan. The last plan of a turn is the valid one.
	InputHash string `json:"input_hash"`
}

// isRecorded reports whether the last recorded plan is the plan of the given question.
func isRecorded(plans []json.RawMessage, hash string) bool {
	var last planData
	return len(plans) > 0 && json.Unmarshal(plans[len(plans)-1], &last) == nil && last.InputHash == hash
}

// plan runs the planner if the config enables it. The agent sees only the resulting plan, in its
// instructions. Children do not plan, because their task is already part of a plan.
func (r *run) plan(ctx context.Context, messages []llm.Message) (plan string, refused *answer, err error) {
	if r.planner == nil || r.child != nil {
		return "", nil, nil
	}
	t := &thread{
		run: r, phase: record.PhasePlan, model: r.planner, messages: slices.Clone(messages),
		definition: r.definition(r.planner, r.planningInstructions(), nil),
	}
	s, err := t.loop(ctx)
	if err != nil {
		return "", nil, err
	}
	if isRefusal(s) {
		return "", refusal(s), nil
	}
	plan = s.Message.Text
	data := &planData{Model: s.Model, Steps: t.number, Usage: r.totals.Usage, InputHash: s.InputHash}
	if !isRecorded(r.record.Traces(record.KindPlan), s.InputHash) {
		err = r.record.AddTrace(ctx, record.KindPlan, plan, data)
	}
	return plan, nil, err
}
