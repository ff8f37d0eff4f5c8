package llm

import (
	"slices"
	"sync"
	"time"
)

// MaxModels bounds the models that a Meter tells apart, and MaxLabel the values of every other label. What comes later counts as Other.
const (
	MaxModels = 100
	MaxLabel  = 50
	Other     = "other"
)

// Meter counts what runtimes and agents do, for metrics. The zero value is useful, and nil counts nothing. It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex // guards the fields below
	series map[seriesKey]*series
	values map[string][]string // of a label, those that are told apart
}

// What is counted. A row of metrics is named by its place.
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
		Help: "Exchanges with models, retries within, by how they have ended: complete, partial, or the category of " +
			"the error."},
	retriesMetric: {Name: "parley_llm_retries_total", Labels: []string{runtimeLabel, modelLabel},
		Help: "Calls of models that were made again."},
	tokensMetric: {Name: "parley_llm_tokens_total",
		Labels: []string{runtimeLabel, modelLabel, "kind"},
		Help: "Tokens by kind: prompt and completion; cache_read and cache_write are part of prompt, reasoning of " +
			"completion."},
	costMetric: {Name: "parley_llm_cost_usd_total", Labels: []string{runtimeLabel, modelLabel},
		Help: "What models with a configured price have cost, in US dollars."},
	chunksMetric: {Name: "parley_llm_chunks_total", Labels: []string{runtimeLabel, modelLabel},
		Help: "Pieces that streams have brought."},
	firstTokenMetric: {Name: "parley_llm_first_token_seconds", Labels: []string{runtimeLabel, modelLabel},
		Buckets: seconds, Help: "From the beginning of a streamed exchange to its first piece."},
	elapsedMetric: {Name: "parley_llm_call_duration_seconds", Labels: []string{runtimeLabel, modelLabel},
		Buckets: seconds, Help: "Whole exchanges, pauses between retries included."},
	toolsMetric: {Name: "parley_llm_tools_total", Labels: []string{"status"},
		Help: "Tools that models have called, by how they have ended."},
	toolMetric: {Name: "parley_llm_tool_duration_seconds", Buckets: seconds,
		Help: "How long tools took, without the wait for approvals."},
	iterationsMetric: {Name: "parley_llm_loop_iterations_total", Help: "Times that an agent has asked its model."},
	approvalsMetric: {Name: "parley_llm_approvals_total", Labels: []string{"status"},
		Help: "Approvals of tools, by how they have ended."},
	turnsMetric: {Name: "parley_llm_turns_total", Labels: []string{"status"},
		Help: "Turns of LLM agents, by how they have ended."},
}

var seconds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// Metric is one thing that is counted, and all that was counted of it. It is a histogram where it has Buckets, else a counter.
type Metric struct {
	Name, Help string
	// Labels are the names of the labels, and Buckets the upper bounds of a histogram.
	Labels  []string
	Buckets []float64
	Series  []Series
}

// Series is what was counted of one combination of labels.
type Series struct {
	// Values are those of the labels, in their order.
	Values []string
	// Value is a counter's.
	Value float64
	// Count, Sum and Cumulative are a histogram's; Cumulative are how many were at most as large as each of Buckets.
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

// Tool counts a tool that has ended, by its status, and how long it ran.
func (m *Meter) Tool(status string, took time.Duration) {
	m.count(toolsMetric, 1, status)
	m.count(toolMetric, took.Seconds())
}

// Approval counts an approval that has ended, by its status.
func (m *Meter) Approval(status string) { m.count(approvalsMetric, 1, status) }

// Turn counts a turn that has ended, by its status, and the times that its model was asked.
func (m *Meter) Turn(status string, iterations int) {
	m.count(turnsMetric, 1, status)
	m.count(iterationsMetric, float64(iterations))
}

// call counts an exchange; result may be nil.
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

// boundedLocked gives the value of a label, or Other where there are too many. Models of all runtimes are counted together.
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

// Snapshot is all that was counted, in an order that stays: every metric, those too of which nothing was counted.
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
