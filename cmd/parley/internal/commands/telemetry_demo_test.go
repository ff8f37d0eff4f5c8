package commands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/telemetry/telemetrytest"
)

// clientTrace is the span of who has started it all.
const clientTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestDemoTrace: the prior authorization of the demo is one tree below the span in which the demo
// was started: the hub, the payer in it, the clinic in a separate process, and the session of the
// payer's deterministic agent. testdata/traces/demo.txt has the names and attributes. The flag
// -update writes it.
func TestDemoTrace(t *testing.T) {
	t.Parallel()
	c := telemetrytest.New(t)
	cmd := exec.CommandContext(t.Context(), "parley", "demo", "--fast", "--case", "lumbar-mri")
	cmd.Env = append(os.Environ(), "TRACEPARENT="+clientTrace, "PARLEY_OTLP_ENDPOINT="+c.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sameTrace(t, "demo.txt", telemetrytest.Tree(t, c.Spans(), clientTrace, newTidier().tidy))
	for _, name := range []string{"parley_events_appended_total", "parley_claims_taken_total", "go_goroutines"} {
		c.Metric(t, name)
	}
}

// tidier writes values of attributes so that they are the same each time: ids that are drawn are
// counted.
type tidier struct{ seen map[string]string }

func newTidier() *tidier { return &tidier{seen: map[string]string{}} }

var drawn = regexp.MustCompile(`^(ses|conv|apr|call|tok)_[A-Za-z0-9]+(\.[0-9]+)?$`)

func (n *tidier) tidy(key, value string) string {
	switch {
	case key == spannames.AttrRunnerID && !strings.HasSuffix(value, "-runner"):
		return "(an id)"
	case drawn.MatchString(value):
		if n.seen[value] == "" {
			kind, _, _ := strings.Cut(value, "_")
			n.seen[value] = fmt.Sprintf("(%s %d)", kind, len(n.seen)+1)
		}
		return n.seen[value]
	}
	return value
}

// sameTrace compares a tree with a file, or writes it there with -update.
func sameTrace(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", "traces", name), got)
}
