// Package metrics describes the counters of a hub as metrics of Prometheus. It owns the table of
// docs/reference/metrics.md, and keeps no values:
//
//	g := metrics.NewGatherer(stats, more) // stats is called for each scrape
package metrics

import (
	"github.com/parleyhub/parley"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metric is a metric of the program around the hub. It is a histogram if it has Buckets, otherwise a
// counter or a gauge.
type Metric struct {
	// Name begins with parley_, and no metric of the hub has it.
	Name, Help string
	// Labels are the names of the labels, and Buckets the upper bounds of a histogram.
	Labels  []string
	Buckets []float64
	// Gauge is true for a gauge.
	Gauge  bool
	Series []Series
}

// Series has the values for one combination of labels.
type Series struct {
	// Values are the values of the labels.
	Values []string
	// Value is the value of a counter or a gauge.
	Value float64
	// Count, Sum and Cumulative are those of a histogram. Cumulative are the numbers of values that are
	// at most as large as each of Buckets.
	Count      uint64
	Sum        float64
	Cumulative []uint64
}

// NewGatherer returns the metrics of a hub and of its process, and those of more, which may be nil.
// Both functions are called for each scrape, from several goroutines.
func NewGatherer(stats func() parley.Stats, more func() []Metric) prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(stats), programCollector(more),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// collector returns the metrics of the table.
type collector struct {
	stats func() parley.Stats
	descs []*prometheus.Desc // of table, in order
}

func newCollector(stats func() parley.Stats) *collector {
	c := &collector{stats: stats}
	for _, m := range table {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, m.labels, nil))
	}
	return c
}

// Describe sends every metric.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect sends the values of every metric at one time.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	n := c.stats()
	for i, m := range table {
		if m.durations != nil {
			out <- newHistogram(c.descs[i], m.durations(&n))
			continue
		}
		m.values(&n, func(v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(c.descs[i], m.kind, v, labels...)
		})
	}
}

// newHistogram returns durations in seconds.
func newHistogram(d *prometheus.Desc, n *parley.Durations) prometheus.Metric {
	buckets := make(map[float64]uint64, len(n.Buckets))
	for i, count := range n.Buckets {
		buckets[n.BoundsMs[i]/1000] = uint64(count)
	}
	return prometheus.MustNewConstHistogram(d, uint64(n.Count), n.SumMs/1000, buckets)
}

// programCollector returns the metrics of the program. It describes none, because they may change.
type programCollector func() []Metric

// Describe sends nothing.
func (programCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every series.
func (c programCollector) Collect(out chan<- prometheus.Metric) {
	if c == nil {
		return
	}
	for _, m := range c() {
		d := prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
		for _, s := range m.Series {
			out <- s.convert(d, &m)
		}
	}
}

func (s *Series) convert(d *prometheus.Desc, of *Metric) prometheus.Metric {
	var m prometheus.Metric
	var err error
	if len(of.Buckets) == 0 {
		kind := prometheus.CounterValue
		if of.Gauge {
			kind = prometheus.GaugeValue
		}
		m, err = prometheus.NewConstMetric(d, kind, s.Value, s.Values...)
	} else {
		buckets := make(map[float64]uint64, len(of.Buckets))
		for i, n := range s.Cumulative {
			buckets[of.Buckets[i]] = n
		}
		m, err = prometheus.NewConstHistogram(d, s.Count, s.Sum, buckets, s.Values...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(d, err)
	}
	return m
}
