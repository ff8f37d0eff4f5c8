package llm

import (
	"slices"
	"sync"
	"time"
)

// MaxModels limits the number of model names of a Meter, and MaxLabel the number of values of every
// other label. Further values count as Other.
const (
	MaxModels = 100
	MaxLabel  = 50
	Other     = "other"
)

// Meter counts the work of runtimes and agents for metrics. The zero value is ready to use, and a
// nil Meter counts nothing. It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex // guards the fields below
	series map[seriesKey]*series
	values map[string][]string // known values of each label
}

// metric is an index of metrics.
type metric int

const (
	callsMetric metric = iota
	retriesMetric
	tokensMetric
	costMetric
	chunksMetric
	firstTokenMetric
	elapsedMetric
	toolsMetric
	toolMetric
	iterationsMetric
	approvalsMetric
	turnsMetric
)

const (
	runtimeLabel = "runtime"
	modelLabel   = "model"
)

var metrics = []Metric{
	callsMetric: {Name: "parley_llm_calls_total", Labels: []string{runtimeLabel, modelLabel, "outcome"},
		Help: "Exchanges with models by outcome: complete, partial, or the category of the error. " +
			"Retries of an exchange are not counted."},
	retriesMetric: {Name: "parley_llm_retries_total", Labels: []string{runtimeLabel, modelLabel},
		Help: "Retried calls of models."},
	tokensMetric: {Name: "parley_llm_tokens_total",
		Labels: []string{runtimeLabel, modelLabel, "kind"},
		Help: "Tokens by kind: prompt and completion. The kinds cache_read and cache_write are part of " +
			"prompt, and reasoning is part of completion."},
	costMetric: {Name: "parley_llm_cost_usd_total", Labels: []string{runtimeLabel, modelLabel},
		Help: "Cost of models with a configured price, in US dollars."},
	chunksMetric: {Name: "parley_llm_chunks_total", Labels: []string{runtimeLabel, modelLabel},
		Help: "Chunks of streams."},
	firstTokenMetric: {Name: "parley_llm_first_token_seconds", Labels: []string{runtimeLabel, modelLabel},
		Buckets: seconds, Help: "Time from the start of a streamed exchange to its first chunk."},
	elapsedMetric: {Name: "parley_llm_call_duration_seconds", Labels: []string{runtimeLabel, modelLabel},
		Buckets: seconds, Help: "Duration of exchanges, including the pauses between retries."},
	toolsMetric: {Name: "parley_llm_tools_total", Labels: []string{"status"},
		Help: "Tool calls of models by final status."},
	toolMetric: {Name: "parley_llm_tool_duration_seconds", Buckets: seconds,
		Help: "Duration of tool calls, without the wait for approvals."},
	iterationsMetric: {Name: "parley_llm_loop_iterations_total", Help: "Calls of models by the loops of agents."},
	approvalsMetric: {Name: "parley_llm_approvals_total", Labels: []string{"status"},
		Help: "Approvals of tool calls by final status."},
	turnsMetric: {Name: "parley_llm_turns_total", Labels: []string{"status"},
		Help: "Turns of LLM agents by final status."},
}

var seconds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// Metric is one metric with its series. It is a histogram if it has Buckets, and a counter
// otherwise.
type Metric struct {
	Name, Help string
	// Labels are the names of the labels. Buckets are the upper bounds of a histogram.
	Labels  []string
	Buckets []float64
	Series  []Series
}

// Series is the value of a metric for one combination of labels.
type Series struct {
	// Values are the label values, in the order of Metric.Labels.
	Values []string
	// Value is the value of a counter.
	Value float64
	// Count, Sum and Cumulative belong to a histogram. Cumulative counts the observations up to
	// each bound of Buckets.
	Count      uint64
	Sum        float64
	Cumulative []uint64
}

type seriesKey struct {
	metric metric
	values [3]string
}

type series struct {
	value   float64
	count   uint64
	buckets []uint64 // not cumulative
}

// Tool counts a finished tool call by its status, and its duration.
func (m *Meter) Tool(status string, took time.Duration) {
	m.count(toolsMetric, 1, status)
	m.count(toolMetric, took.Seconds())
}

// Approval counts a finished approval by its status.
func (m *Meter) Approval(status string) { m.count(approvalsMetric, 1, status) }

// Turn counts a finished turn by its status, and the calls of its model.
func (m *Meter) Turn(status string, iterations int) {
	m.count(turnsMetric, 1, status)
	m.count(iterationsMetric, float64(iterations))
}

// call counts an exchange. The result may be nil.
func (m *Meter) call(runtime, model, outcome string, r *Result, retries int) {
	if m == nil {
		return
	}
	m.count(callsMetric, 1, runtime, model, outcome)
	if retries > 0 {
		m.count(retriesMetric, float64(retries), runtime, model)
	}
	if r == nil {
		return
	}
	m.count(elapsedMetric, r.Elapsed.Seconds(), runtime, model)
	if r.Timings.Chunks > 0 {
		m.count(chunksMetric, float64(r.Timings.Chunks), runtime, model)
		m.count(firstTokenMetric, r.Timings.FirstToken.Seconds(), runtime, model)
	}
	if r.CostUSD != nil {
		m.count(costMetric, *r.CostUSD, runtime, model)
	}
	for kind, n := range map[string]int64{
		"prompt": r.Usage.PromptTokens, "completion": r.Usage.CompletionTokens,
		"cache_read": r.Usage.CacheReadTokens, "cache_write": r.Usage.CacheWriteTokens, "reasoning": r.Usage.ReasoningTokens,
	} {
		if n > 0 {
			m.count(tokensMetric, float64(n), runtime, model, kind)
		}
	}
}

func (m *Meter) count(of metric, n float64, values ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := seriesKey{metric: of}
	for i, v := range values {
		key.values[i] = m.boundedLocked(metrics[of].Labels[i], v)
	}
	if m.series == nil {
		m.series = map[seriesKey]*series{}
	}
	s := m.series[key]
	if s == nil {
		s = &series{buckets: make([]uint64, len(metrics[of].Buckets))}
		m.series[key] = s
	}
	s.value += n
	s.count++
	if i, _ := slices.BinarySearch(metrics[of].Buckets, n); i < len(s.buckets) {
		s.buckets[i]++
	}
}

// boundedLocked returns the value of a label, or Other if the label has too many values. All
// runtimes share the limit of models.
func (m *Meter) boundedLocked(label, value string) string {
	most := MaxLabel
	if label == modelLabel {
		most = MaxModels
	}
	if slices.Contains(m.values[label], value) {
		return value
	}
	if len(m.values[label]) >= most {
		return Other
	}
	if m.values == nil {
		m.values = map[string][]string{}
	}
	m.values[label] = append(m.values[label], value)
	return value
}

// Snapshot returns all metrics in a fixed order, including those without a series.
func (m *Meter) Snapshot() []Metric {
	all := slices.Clone(metrics)
	if m == nil {
		return all
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.series {
		of := &all[key.metric]
		one := Series{Values: slices.Clone(key.values[:len(of.Labels)])}
		if len(of.Buckets) == 0 {
			one.Value = s.value
		} else {
			one.Count, one.Sum, one.Cumulative = s.count, s.value, cumulative(s.buckets)
		}
		of.Series = append(of.Series, one)
	}
	for i := range all {
		slices.SortFunc(all[i].Series, func(a, b Series) int { return slices.Compare(a.Values, b.Values) })
	}
	return all
}

func cumulative(buckets []uint64) []uint64 {
	all := slices.Clone(buckets)
	for i := 1; i < len(all); i++ {
		all[i] += all[i-1]
	}
	return all
}
