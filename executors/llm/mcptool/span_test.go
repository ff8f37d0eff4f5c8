package mcptool_test

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// A server gets the span of a call in _meta, if there is one. Its command does not inherit
// TRACEPARENT.
func TestTraceparent(t *testing.T) {
	const asker, inherited = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-2af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	t.Setenv("TRACEPARENT", inherited)
	everyWay(t, func(w *world) {
		for _, want := range []string{asker, ""} {
			r, err := w.named("traceparent").Run(parley.WithTraceparent(w.Context(), want),
				&tool.Call{Arguments: []byte(`{}`), Progress: func(tool.Progress) {}})
			if err != nil {
				w.Fatal(err)
			}
			if got := "report " + want; r.Text != got {
				w.Errorf("the server was %q, expected %q", r.Text, got)
			}
		}
	})
	lacks(t, "the environment", stdio(t, "serve").must("environment", `{}`).Text, "TRACEPARENT")
}
