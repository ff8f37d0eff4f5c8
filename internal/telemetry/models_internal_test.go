// These tests are internal, because the attributes that a call keeps are not visible outside.
package telemetry

import (
	"testing"

	"github.com/parleyhub/parley"
)

// A running call keeps the attributes of metrics, and no content.
func TestCallKeepsNoContent(t *testing.T) {
	c := (&models{}).begin(parley.SpanStart{Name: parley.SpanChat + "m",
		Attributes: []parley.Attribute{{Key: parley.AttrGenAIRequestModel, Value: "m"}}})
	c.set([]parley.Attribute{{Key: parley.AttrGenAIInputMessages, Value: "said"}, {Key: parley.AttrGenAIUsageInputTokens,
		Value: 3}})
	if len(c.known) != 2 || c.known[parley.AttrGenAIInputMessages] != nil {
		t.Errorf("it keeps %v", c.known)
	}
}
