package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

// planData is the data of llm_plan.
type planData struct {
	Model string    `json:"model"`
	Steps int       `json:"steps"`
	Usage llm.Usage `json:"usage"`
	// InputHash is that of the step which is the plan. The last plan of a turn is the one that counts.
	InputHash string `json:"input_hash"`
}

// told reports whether the last plan that was told is that of a question.
func told(plans []json.RawMessage, hash string) bool {
	var last planData
	return len(plans) > 0 && json.Unmarshal(plans[len(plans)-1], &last) == nil && last.InputHash == hash
}

// plan has the planner look first, where the config wants one: what it says goes into the agent's instructions, and nothing else of it is seen by the agent. Children do not plan: what
// they are given is a part of a plan.
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
	if !told(r.record.Said(record.KindPlan), s.InputHash) {
		err = r.record.Say(ctx, record.KindPlan, plan, data)
	}
	return plan, nil, err
}
