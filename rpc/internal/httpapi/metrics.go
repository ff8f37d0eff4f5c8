package httpapi

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds the scrapes under way. One more is answered with HTTP 503.
const maxScrapes = 4

func newMetricsHandler(g prometheus.Gatherer, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		MaxRequestsInFlight: maxScrapes, DisableCompression: true,
	})
}

// MetricsHandler serves /metrics without a token, for a separate listener. The Host must be allowed,
// or an address: a page whose name resolves to this machine has neither.
func (a *API) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.setDeadlines(w, r)
		err := a.Admission.Origins.Check(r)
		if err != nil && isAddress(r.Host) && len(r.Header.Values("Origin")) == 0 {
			err = nil
		}
		switch {
		case err != nil:
			a.writeProblem(w, err)
		case r.URL.Path != "/metrics":
			writeText(w, http.StatusNotFound, "only /metrics is served here\n")
		default:
			a.writeMetrics(w, r)
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
func (a *API) serveMetrics(w http.ResponseWriter, r *http.Request) {
	p, err := a.authenticate(r)
	if err == nil && !p.Admin() {
		err = parley.Refuse(parley.ErrForbidden, "/metrics needs the scope admin", "a token with scope admin")
		a.Admission.Audit.Refuse("scope_refused", admission.NewActor(p, a.Admission.Address(r), "metrics"), err, "")
	}
	if err != nil {
		a.writeProblem(w, err)
		return
	}
	a.writeMetrics(w, r)
}

func (a *API) writeMetrics(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeText(w, http.StatusMethodNotAllowed, "GET returns the metrics\n")
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	a.extendWrite(w)
	a.metrics.ServeHTTP(w, r)
}
