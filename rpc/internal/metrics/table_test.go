package metrics

// White-box: the table of docs/reference/metrics.md is compared with the one that the metrics are made from.

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v4"
)

const metricsDoc = "../../../docs/reference/metrics.md"

// metricRows are the rows that docs/reference/metrics.md should have.
func metricRows() string {
	kinds := map[prometheus.ValueType]string{
		0: "histogram", prometheus.GaugeValue: "gauge", prometheus.CounterValue: "counter",
	}
	var b strings.Builder
	for _, m := range table {
		labels := "-"
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, kinds[m.kind], labels, m.help)
	}
	return b.String()
}

// TestMetricsAreThoseOfTheDocument: every metric has its row, in order, and there is no other.
func TestMetricsAreThoseOfTheDocument(t *testing.T) {
	doc, err := os.ReadFile(metricsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if want := metricRows(); table+"\n" != want {
		t.Errorf("%s has\n%s\nthe code has\n%s", metricsDoc, table, want)
	}
}

// TestAlertsNameMetrics: the rules are YAML of the form that Prometheus loads, and name existing metrics and labels.
func TestAlertsNameMetrics(t *testing.T) {
	doc, err := os.ReadFile(metricsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(doc), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Load([]byte(block), &rules, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 5 {
		t.Fatalf("the rules are %+v", rules)
	}
	for _, r := range rules.Groups[0].Rules {
		if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
			t.Errorf("%+v lacks something", r)
		}
		named := regexp.MustCompile(`(parley_\w+)(?:\{(\w+)=)?`).FindAllStringSubmatch(r.Expr, -1)
		if len(named) == 0 {
			t.Errorf("%s looks at no metric of the hub: %s", r.Alert, r.Expr)
		}
		for _, m := range named {
			if !hasMetric(m[1], m[2]) {
				t.Errorf("%s: there is no %s with label %q", r.Alert, m[1], m[2])
			}
		}
	}
}

func hasMetric(name, label string) bool {
	for _, m := range table {
		if m.name == name || m.kind == 0 && strings.TrimSuffix(name, "_bucket") == m.name {
			return label == "" || strings.Contains(strings.Join(m.labels, " "), label)
		}
	}
	return false
}
