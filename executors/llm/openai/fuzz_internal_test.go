package openai

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
	for i, found := range regexp.MustCompile("(?s)Stream = `(.*?)`").FindAllSubmatch(source, -1) {
		whole := string(found[1])
		f.Add(i == 1, whole)
		for e := range strings.SplitAfterSeq(whole, "\n\n") {
			f.Add(i == 1, strings.Replace(whole, e, "", 1))
			f.Add(i == 1, strings.Replace(whole, e, e+e, 1))
		}
	}
	p, err := New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, chat bool, text string) {
		res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(text))}
		said, refused, calls := "", "", []llm.ToolCall(nil)
		emit := func(c llm.Chunk) error {
			said, refused = said+c.Text, refused+c.Refusal
			switch d := c.ToolCall; {
			case d == nil:
			case d.Index == len(calls):
				calls = append(calls, llm.ToolCall{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
			default:
				calls[d.Index].Arguments += d.Arguments
			}
			return nil
		}
		var r *llm.Response
		var err error
		if chat {
			r, err = p.streamChat(res, emit)
		} else {
			r, err = p.streamResponses(res, &llm.Request{}, emit)
		}
		var pe *llm.ProviderError
		if err != nil && !errors.As(err, &pe) {
			t.Fatalf("got %v", err)
		}
		if err == nil && (said != r.Text || refused != r.Refusal || len(calls) != len(r.ToolCalls)) {
			t.Fatalf("the chunks say %q %q %v, and the response %+v", said, refused, calls, r)
		}
		for i := range calls {
			if err == nil && calls[i] != r.ToolCalls[i] {
				t.Fatalf("the chunks make the call %+v, and the response %+v", calls[i], r.ToolCalls[i])
			}
		}
	})
}
