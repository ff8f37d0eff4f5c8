package llmtest_test

import (
	"os"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

func TestVendorConforms(t *testing.T) {
	t.Parallel()
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "model-1", Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
			if fault, ok := faults[os.Getenv(faultVariable)]; ok {
				return fault(llmtest.Vendor(s))
			}
			return llmtest.Vendor(s)
		}}
	})
}
