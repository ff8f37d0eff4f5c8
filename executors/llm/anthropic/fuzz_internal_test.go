package anthropic

// It is inside because a stream is fuzzed without a server: thousands a second instead of tens.

import (
	"testing"

	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// FuzzStream reads any stream: see wiretest.CheckStream.
func FuzzStream(f *testing.F) {
	for _, text := range wiretest.Seeds(f)[0] {
		f.Add(text)
	}
	p, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) { wiretest.CheckStream(t, text, p.stream) })
}
