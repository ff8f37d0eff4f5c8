// These tests are in the package because what a call keeps of its span is seen nowhere else.
package telemetry

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// TestCallKeepsNoContent: a call that is under way keeps what is counted, and nothing that was said.
func TestCallKeepsNoContent(t *testing.T) {
	c := (&models{}).begin(parley.SpanStart{Name: spannames.SpanChat + "m", Attributes: []parley.Attribute{{Key: spannames.AttrGenAIRequestModel, Value: "m"}}})
	c.set([]parley.Attribute{{Key: spannames.AttrGenAIInputMessages, Value: "said"}, {Key: spannames.AttrGenAIUsageInputTokens, Value: 3}})
	if len(c.known) != 2 || c.known[spannames.AttrGenAIInputMessages] != nil {
		t.Errorf("it keeps %v", c.known)
	}
}
