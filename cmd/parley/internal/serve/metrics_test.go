package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/executors/llm"
)

// TestDocsOfLLMMetrics: docs/reference/metrics.md has a row for each metric of LLM agents.
func TestDocsOfLLMMetrics(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for _, m := range (&llm.Meter{}).Snapshot() {
		kind, labels := "counter", "-"
		if len(m.Buckets) > 0 {
			kind = "histogram"
		}
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", m.Name, kind, labels, m.Help)
	}
	doc := clitest.Document(t, "docs", "reference", "metrics.md")
	if !strings.Contains(doc, "|---|---|---|---|\n"+rows.String()+"\n") {
		t.Errorf("docs/reference/metrics.md does not have the rows\n%s", rows.String())
	}
}
