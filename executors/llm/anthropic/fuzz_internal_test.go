package anthropic

// The test is internal, because streams are tested thousands of times per second without a server.

import (
	"net/http"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// FuzzStream reads random streams. See wiretest.CheckStream.
func FuzzStream(f *testing.F) {
	for _, text := range wiretest.Seeds(f)[0] {
		f.Add(text)
	}
	p, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wiretest.CheckStream(t, text, func(res *http.Response, emit func(llm.Chunk) error) (*llm.Response, error) {
			return p.stream(res, &llm.Request{}, emit)
		})
	})
}
