package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// lines formats a snapshot as a page of metrics does.
func lines(m *llm.Meter) []string {
	var all []string
	for _, metric := range m.Snapshot() {
		for _, s := range metric.Series {
			var labels []string
			for i, name := range metric.Labels {
				labels = append(labels, name+"="+s.Values[i])
			}
			line := metric.Name + "{" + strings.Join(labels, ",") + "} "
			if len(metric.Buckets) > 0 {
				all = append(
					all, line+fmt.Sprintf("count %d sum %g first %d last %d", s.Count, s.Sum, s.Cumulative[0],
						s.Cumulative[len(s.Cumulative)-1]))
				continue
			}
			all = append(all, line+fmt.Sprint(s.Value))
		}
	}
	return all
}

func TestMeterCountsRuns(t *testing.T) {
	m := &llm.Meter{}
	run := func(all []answer, d llm.Definition, o llm.Options) {
		a := &answers{all: all}
		r := a.runtime(llm.Models{{Capabilities: llm.Capabilities{Price: &llm.Price{Input: 1e6, Output: 1e6}}}})
		d.Model, o.Meter = "m", m
		_, _ = r.RunStream(t.Context(), prepare(t, r, &d, &o), question("hi"), nil)
	}
	run([]answer{breaks("one"), {chunks: texts("one", " two"), resp: &llm.Response{
		Text: "one two", Finish: llm.FinishStop,
		Usage: &llm.Usage{PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10, CacheReadTokens: 5, CacheWriteTokens: 1,
			ReasoningTokens: 2},
	}}}, llm.Definition{}, llm.Options{MaxRetries: 1, Retry: llm.Retry{Min: time.Microsecond, Max: time.Microsecond}})
	run([]answer{{err: &llm.ProviderError{Category: llm.CategoryRateLimit}}}, llm.Definition{}, llm.Options{})
	run([]answer{says("no JSON")}, llm.Definition{OutputSchema: schema(`{}`)}, llm.Options{})
	run([]answer{says("no JSON")}, llm.Definition{}, llm.Options{Budget: llm.Budget{Tokens: 1}})
	m.Tool("success", time.Second)
	m.Tool("error", time.Second)
	m.Approval("approved")
	m.Turn("complete", 3)
	got := lines(m)
	for _, want := range []string{
		"parley_llm_calls_total{runtime=fake,model=m,outcome=complete} 1",
		"parley_llm_calls_total{runtime=fake,model=m,outcome=rate_limit} 1",
		"parley_llm_calls_total{runtime=fake,model=m,outcome=schema_error} 1",
		"parley_llm_calls_total{runtime=fake,model=m,outcome=budget_exceeded} 1",
		"parley_llm_retries_total{runtime=fake,model=m} 1",
		"parley_llm_tokens_total{runtime=fake,model=m,kind=cache_read} 5",
		"parley_llm_tokens_total{runtime=fake,model=m,kind=cache_write} 1",
		"parley_llm_tokens_total{runtime=fake,model=m,kind=reasoning} 2",
		"parley_llm_chunks_total{runtime=fake,model=m} 4",
		"parley_llm_tools_total{status=error} 1",
		"parley_llm_tools_total{status=success} 1",
		"parley_llm_tool_duration_seconds{} count 2 sum 2 first 0 last 2",
		"parley_llm_loop_iterations_total{} 3",
		"parley_llm_approvals_total{status=approved} 1",
		"parley_llm_turns_total{status=complete} 1",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if !slices.ContainsFunc(got, func(s string) bool {
		return strings.HasPrefix(s, "parley_llm_first_token_seconds{runtime=fake,model=m} count 2")
	}) {
		t.Errorf("no first tokens in\n%s", strings.Join(got, "\n"))
	}
}

// TestMeterIsBounded counts more models than the limit from many goroutines, while another reads
// snapshots.
func TestMeterIsBounded(t *testing.T) {
	m := &llm.Meter{}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 60 {
				a := &answers{all: []answer{says("ok")}}
				r := a.runtime(nil)
				p := prepare(t, r, &llm.Definition{Model: fmt.Sprintf("m-%d-%d", g, i)}, &llm.Options{Meter: m})
				if _, err := r.Run(t.Context(), p, question("hi")); err != nil {
					t.Error(err)
				}
				m.Tool(fmt.Sprintf("odd %d %d", g, i), 0)
				m.Snapshot()
			}
		})
	}
	group.Wait()
	for _, metric := range m.Snapshot() {
		most, total := 0, 0.0
		switch metric.Name {
		case "parley_llm_calls_total":
			most = llm.MaxModels + 1
		case "parley_llm_tools_total":
			most = llm.MaxLabel + 1
		default:
			continue
		}
		for _, s := range metric.Series {
			total += s.Value
		}
		if len(metric.Series) != most || total != 480 {
			t.Errorf("%s has %d series and counts %g: expected %d and 480", metric.Name, len(metric.Series), total, most)
		}
	}
}

func TestNoMeter(t *testing.T) {
	var m *llm.Meter
	m.Tool("success", 0)
	m.Approval("approved")
	m.Turn("complete", 1)
	if got := lines(m); got != nil || len(m.Snapshot()) == 0 {
		t.Errorf("counted %v", got)
	}
}
