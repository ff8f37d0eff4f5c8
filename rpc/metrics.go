package rpc

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/parleyhub/parley"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds the scrapes under way; one more is answered with HTTP 503.
const maxScrapes = 4

// newMetrics makes the handler that writes the hub's metrics, and those of Go and the process, as Prometheus reads them.
func newMetrics(s *Server) http.Handler {
	return promhttp.HandlerFor(s.Gatherer(), promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelError), MaxRequestsInFlight: maxScrapes, DisableCompression: true,
	})
}

// Gatherer gives what /metrics tells, for a program that tells it elsewhere too.
func (s *Server) Gatherer() prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(s), guestCollector{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// collector makes metrics of what the hub and its doors have counted at the time of a scrape. It keeps nothing.
type collector struct {
	server *Server
	descs  []*prometheus.Desc // of metrics, in their order
}

var _ prometheus.Collector = (*collector)(nil)

func newCollector(s *Server) *collector {
	c := &collector{server: s}
	for _, m := range metrics {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, m.labels, nil))
	}
	return c
}

// Describe names every metric.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect looks once and gives every metric.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	n := c.server.hub.Counted()
	c.server.complete(&n)
	for i, m := range metrics {
		if m.values == nil {
			out <- histogram(c.descs[i], histograms[m.name](&n))
			continue
		}
		m.values(&n, func(v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(c.descs[i], m.kind, v, labels...)
		})
	}
}

// histogram gives durations in seconds.
func histogram(d *prometheus.Desc, n *parley.Durations) prometheus.Metric {
	buckets := make(map[float64]uint64, len(n.Buckets))
	for i, count := range n.Buckets {
		buckets[n.BoundsMs[i]/1000] = uint64(count)
	}
	return prometheus.MustNewConstHistogram(d, uint64(n.Count), n.SumMs/1000, buckets)
}

// MetricsHandler serves /metrics without a token, for a listener of its own that only those reach who may see it. The Host must be on the hub's
// list, as at every door, or an address: a page whose name was made to resolve to this machine has neither.
func (s *Server) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.setDeadlines(w, r)
		err := s.guard.check(r)
		if err != nil && isAddress(r.Host) && len(r.Header.Values("Origin")) == 0 {
			err = nil
		}
		switch {
		case err != nil:
			s.writeProblem(w, err)
		case r.URL.Path != "/metrics":
			writeText(w, http.StatusNotFound, "only /metrics is served here\n")
		default:
			s.writeMetrics(w, r)
		}
	})
}

// isAddress reports whether a Host header is an address and not a name.
func isAddress(hostport string) bool {
	if _, err := netip.ParseAddr(hostport); err == nil {
		return true
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	_, err = netip.ParseAddr(host)
	return err == nil
}

// serveMetrics serves /metrics to callers with scope admin.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	p, err := s.caller(r)
	if err == nil && !p.Admin() {
		err = parley.Refuse(parley.ErrForbidden, "/metrics needs the scope admin", "a token with scope admin")
		s.audit.refused(refusal{event: "scope_refused", from: s.address(r), agent: p.AgentID, tokenID: p.TokenID, method: "metrics", err: err})
	}
	if err != nil {
		s.writeProblem(w, err)
		return
	}
	s.writeMetrics(w, r)
}

func (s *Server) writeMetrics(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeText(w, http.StatusMethodNotAllowed, "GET gives the metrics\n")
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // fails where there are no deadlines
	s.metrics().ServeHTTP(w, r)
}
