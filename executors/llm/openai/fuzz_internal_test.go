package openai

// The test is internal, because streams are tested thousands of times per second without a server.

import (
	"net/http"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// FuzzStream reads random streams. See wiretest.CheckStream.
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
				return p.streamChat(res, &llm.Request{}, emit)
			}
			return p.streamResponses(res, &llm.Request{}, emit)
		})
	})
}
