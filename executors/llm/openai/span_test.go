package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/openai"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
)

// A call is a span with the kind of failure and without the texts.
func TestEmbedSpan(t *testing.T) {
	status, body := 200, `{"object":"list","data":[{"index":0,"embedding":[1,2]}]}`
	base := wiretest.Raw(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	r := &spantest.Recorder{TellContent: true}
	e := embedder(t, openai.EmbedderOptions{BaseURL: base + "/v1", APIKey: key, Model: "m"})
	ctx := parley.WithTracer(t.Context(), r)
	if _, err := e.Embed(ctx, []string{"a secret"}); err != nil {
		t.Fatal(err)
	}
	status, body = 404, `{"error":{"message":"none"}}`
	if _, err := e.Embed(ctx, []string{"a secret"}); err == nil {
		t.Fatal("the call has not failed")
	}
	all := r.Named("embeddings m")
	if len(all) != 2 || all[0].Failure != "" || all[1].Failure != string(llm.CategoryNotFound) {
		t.Fatalf("the spans are %+v", all)
	}
	for _, s := range all {
		if s.Ends != 1 || s.Kind != parley.SpanClient || s.Attributes[spannames.AttrGenAIProviderName] != "openai" ||
			s.Attributes[spannames.AttrGenAIRequestModel] != "m" || strings.Contains(fmt.Sprint(s), "secret") {
			t.Errorf("the span is %+v", s)
		}
	}
}
