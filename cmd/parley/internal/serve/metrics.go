package serve

import (
	"github.com/parleyhub/parley/cmd/parley/internal/runner"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/rpc"
)

// sharedMetrics are those of a log that several hubs share.
var sharedMetrics = []struct {
	name, help string
	gauge      bool
	value      func(*jetstream.Stats) float64
}{
	{"parley_journal_connected", "1 while a NATS server of the shared log answers.", true,
		func(s *jetstream.Stats) float64 {
			if s.Connected {
				return 1
			}
			return 0
		}},
	{"parley_journal_lag", "Messages of the shared log that this hub's replica does not have yet.", true,
		func(s *jetstream.Stats) float64 { return float64(s.Lag) }},
	{"parley_journal_published_total",
		"Messages that this hub has published to the shared log; each has all events that came together.", false,
		func(s *jetstream.Stats) float64 { return float64(s.Published) }},
	{"parley_journal_bare_total", "Those of them without events, published only to know whether this hub is behind.",
		false, func(s *jetstream.Stats) float64 { return float64(s.Bare) }},
	{"parley_journal_resent_total", "Messages published once more because no answer came.", false,
		func(s *jetstream.Stats) float64 { return float64(s.Resent) }},
	{"parley_journal_redone_total", "Appends decided again because another hub had written to their conversation.", false,
		func(s *jetstream.Stats) float64 { return float64(s.Redone) }},
}

// journalMetrics returns the metrics of a shared journal, or nil for another one.
func journalMetrics(j journal.Journal) func() []rpc.Metric {
	shared, ok := j.(*jetstream.Journal)
	if !ok {
		return nil
	}
	return func() []rpc.Metric {
		s := shared.Stats()
		var all []rpc.Metric
		for _, m := range sharedMetrics {
			all = append(all,
				rpc.Metric{Name: m.name, Help: m.help, Gauge: m.gauge, Series: []rpc.MetricSeries{{Value: m.value(&s)}}})
		}
		return all
	}
}

// allMetrics returns the metrics of models and of a journal.
func allMetrics(j journal.Journal) func() []rpc.Metric {
	shared := journalMetrics(j)
	if shared == nil {
		return llmMetrics
	}
	return func() []rpc.Metric { return append(llmMetrics(), shared()...) }
}

// llmMetrics is what meter has counted, for /metrics.
func llmMetrics() []rpc.Metric {
	counted := runner.Meter.Snapshot()
	all := make([]rpc.Metric, len(counted))
	for i, m := range counted {
		all[i] = rpc.Metric{Name: m.Name, Help: m.Help, Labels: m.Labels, Buckets: m.Buckets}
		for _, s := range m.Series {
			all[i].Series = append(all[i].Series, rpc.MetricSeries(s))
		}
	}
	return all
}
