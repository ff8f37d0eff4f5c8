// These tests are internal, because the attributes that a call keeps are not visible outside.
package telemetry

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// A running call keeps the attributes of metrics, and no content.
func TestCallKeepsNoContent(t *testing.T) {
	c := (&models{}).begin(parley.SpanStart{Name: spannames.SpanChat + "m",
		Attributes: []parley.Attribute{{Key: spannames.AttrGenAIRequestModel, Value: "m"}}})
	c.set([]parley.Attribute{{Key: spannames.AttrGenAIInputMessages, Value: "said"}, {Key: spannames.AttrGenAIUsageInputTokens,
		Value: 3}})
	if len(c.known) != 2 || c.known[spannames.AttrGenAIInputMessages] != nil {
		t.Errorf("it keeps %v", c.known)
	}
}
