package rpc

import "github.com/prometheus/client_golang/prometheus"

// Metric is something that the program around the hub has counted. It is a histogram where it has Buckets, else a counter.
type Metric struct {
	// Name begins with parley_, and is no metric's of the hub.
	Name, Help string
	// Labels are the names of the labels, and Buckets the upper bounds of a histogram.
	Labels  []string
	Buckets []float64
	// Gauge says that it may fall, and is no counter.
	Gauge  bool
	Series []MetricSeries
}

// MetricSeries is one combination of the values of the labels.
type MetricSeries struct {
	Values []string
	// Value is a counter's or a gauge's.
	Value float64
	// Count, Sum and Cumulative are a histogram's: Cumulative are how many were at most as large as each of Buckets.
	Count      uint64
	Sum        float64
	Cumulative []uint64
}

// guestCollector gives Options.Metrics. It describes nothing: what there is may depend on what the program runs.
type guestCollector struct{ server *Server }

var _ prometheus.Collector = guestCollector{}

// Describe names nothing.
func (guestCollector) Describe(chan<- *prometheus.Desc) {}

// Collect looks once and gives every series.
func (c guestCollector) Collect(out chan<- prometheus.Metric) {
	if c.server.opts.Metrics == nil {
		return
	}
	for _, m := range c.server.opts.Metrics() {
		d := prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
		for _, s := range m.Series {
			out <- s.metric(d, &m)
		}
	}
}

func (s *MetricSeries) metric(d *prometheus.Desc, of *Metric) prometheus.Metric {
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
