// These tests are in the package because what a call keeps of its span is seen nowhere else.
package telemetry

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestCallKeepsNoContent: a call that is under way keeps what is counted, and nothing that was said.
func TestCallKeepsNoContent(t *testing.T) {
	c := (&models{}).begin(parley.SpanStart{Name: parley.SpanChat + "m", Attributes: []parley.Attribute{{Key: parley.AttrGenAIRequestModel, Value: "m"}}})
	c.set([]parley.Attribute{{Key: parley.AttrGenAIInputMessages, Value: "said"}, {Key: parley.AttrGenAIUsageInputTokens, Value: 3}})
	if len(c.known) != 2 || c.known[parley.AttrGenAIInputMessages] != nil {
		t.Errorf("it keeps %v", c.known)
	}
}
