package commands

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/telemetry/telemetrytest"
)

// TestMetricsTold: what /metrics has goes to the collector under the same names, each as what it is
// there.
func TestMetricsTold(t *testing.T) {
	t.Parallel()
	c := telemetrytest.New(t)
	h := newFrontHub(t, nil, "--otlp-endpoint", c.URL)
	h.send("", "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.origin()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+frontToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var shown []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if what, ok := strings.CutPrefix(lines.Text(), "# TYPE "); ok {
			shown = append(shown, what)
		}
	}
	clitest.Terminate(t, h.cmd)
	var told []string
	for name, m := range c.Metrics() {
		kind := "untold"
		switch {
		case m.GetSum() != nil && m.GetSum().IsMonotonic:
			kind = "counter"
		case m.GetGauge() != nil:
			kind = "gauge"
		case m.GetHistogram() != nil, m.GetExponentialHistogram() != nil:
			kind = "histogram"
		case m.GetSummary() != nil:
			kind = "summary"
		}
		if name != spannames.MetricGenAIOperationDuration && name != spannames.MetricGenAITokenUsage {
			told = append(told, fmt.Sprint(name, " ", kind))
		}
	}
	for _, what := range shown {
		if !slices.Contains(told, what) {
			t.Errorf("/metrics has %s, which is not told", what)
		}
	}
	if len(shown) < 50 || !slices.Contains(shown, "parley_events_appended_total counter") {
		t.Errorf("/metrics is %s", shown)
	}
}
