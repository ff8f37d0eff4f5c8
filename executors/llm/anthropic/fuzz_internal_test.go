package anthropic

// It is inside because a stream is fuzzed without a server: thousands a second instead of tens.

import (
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
)

// FuzzStream gives an answer or an error of ours for whatever comes, and the answer is what the chunks say.
func FuzzStream(f *testing.F) {
	source, err := os.ReadFile("stream_test.go")
	if err != nil {
		f.Fatal(err)
	}
	whole := regexp.MustCompile("(?s)`(.*?)`").FindSubmatch(source)[1]
	f.Add(string(whole))
	for e := range strings.SplitAfterSeq(string(whole), "\n\n") {
		f.Add(strings.Replace(string(whole), e, "", 1))
		f.Add(strings.Replace(string(whole), e, e+e, 1))
	}
	p, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(text))}
		said, calls := "", []llm.ToolCall(nil)
		r, err := p.stream(res, func(c llm.Chunk) error {
			said += c.Text
			switch d := c.ToolCall; {
			case d == nil:
			case d.Index == len(calls):
				calls = append(calls, llm.ToolCall{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
			default:
				calls[d.Index].Arguments += d.Arguments
			}
			return nil
		})
		var pe *llm.ProviderError
		if err != nil && !errors.As(err, &pe) {
			t.Fatalf("got %v", err)
		}
		if err == nil && (said != r.Text || len(calls) != len(r.ToolCalls)) {
			t.Fatalf("the chunks say %q %v, and the response %+v", said, calls, r)
		}
		for i := range calls {
			if err == nil && calls[i] != r.ToolCalls[i] {
				t.Fatalf("the chunks make the call %+v, and the response %+v", calls[i], r.ToolCalls[i])
			}
		}
	})
}
