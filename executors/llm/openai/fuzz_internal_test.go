package openai

// It is inside because a stream is fuzzed without a server: thousands a second instead of tens.

import (
	"net/http"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// FuzzStream reads any stream: see wiretest.CheckStream.
func FuzzStream(f *testing.F) {
	for i, seeds := range wiretest.Seeds(f) {
		for _, text := range seeds {
			f.Add(i == 1, text)
		}
	}
	p, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, chat bool, text string) {
		wiretest.CheckStream(t, text, func(res *http.Response, emit func(llm.Chunk) error) (*llm.Response, error) {
			if chat {
				return p.streamChat(res, emit)
			}
			return p.streamResponses(res, &llm.Request{}, emit)
		})
	})
}
