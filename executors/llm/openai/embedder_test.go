package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

func embedder(t *testing.T, o openai.EmbedderOptions) *openai.Embedder {
	t.Helper()
	e, err := openai.NewEmbedder(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestNewEmbedder(t *testing.T) {
	for name, o := range map[string]*openai.EmbedderOptions{
		"nothing": nil, "model": {Model: "a\nb"}, "dimensions": {Model: "m", Dimensions: -1},
		"base": {Model: "m", BaseURL: "localhost"}, "key": {Model: "m", APIKey: key + "\nX-Evil: 1"},
		"key in base": {Model: "m", BaseURL: "https://" + key + "@host"},
	} {
		if _, err := openai.NewEmbedder(o); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Options that change the vectors change the name. No name has the address of a server.
func TestEmbedderNames(t *testing.T) {
	names := map[string]bool{}
	for _, o := range []openai.EmbedderOptions{
		{Model: "m"}, {Model: "n"}, {Model: "m", Dimensions: 256}, {Model: "m", BaseURL: "http://inner.example/v1"},
		{Model: "m", BaseURL: "http://other.example/v1"},
		{Model: "m", Name: "ollama", BaseURL: "http://inner.example/v1"},
	} {
		name := embedder(t, o).Name()
		if names[name] || strings.Contains(name, "example") {
			t.Errorf("the name %s", name)
		}
		names[name] = true
	}
	if !names["openai:m"] || !names["openai:m/256"] {
		t.Errorf("names %v", names)
	}
	if a, b := embedder(t, openai.EmbedderOptions{Model: "m", BaseURL: "http://a/v1"}), embedder(
		t, openai.EmbedderOptions{Model: "m", BaseURL: "http://a/v1/"}); a.Name() != b.Name() {
		t.Errorf("%s and %s", a.Name(), b.Name())
	}
}

func TestEmbed(t *testing.T) {
	var asked map[string]any
	var header http.Header
	var path string
	base := wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		header, path = r.Header, r.URL.Path
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &asked)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(
			w, `{"object":"list","model":"m","data":[{"object":"embedding","index":1,"embedding":[0.5,-1e-3]},`+
				`{"object":"embedding","index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":1,"total_tokens":1}}`)
	})
	e := embedder(t, openai.EmbedderOptions{BaseURL: base + "/v1", APIKey: key, Model: "m", Dimensions: 2})
	got, err := e.Embed(t.Context(), []string{"first <b>", "second"})
	if err != nil || len(got) != 2 || !slices.Equal(got[0], []float32{1, 2}) ||
		!slices.Equal(got[1], []float32{0.5, -1e-3}) {
		t.Errorf("%v, %v", got, err)
	}
	if path != "/v1/embeddings" || header.Get("Authorization") != "Bearer "+key || asked["model"] != "m" ||
		asked["dimensions"] != 2.0 || asked["encoding_format"] != "float" {
		t.Errorf("asked %s %v %v", path, header, asked)
	}
	if input, ok := asked["input"].([]any); !ok || len(input) != 2 || input[0] != "first <b>" {
		t.Errorf("the input is %v", asked["input"])
	}
	if got, err := e.Embed(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of no texts: %v, %v", got, err)
	}
}

func TestEmbedFails(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.Category
	}{
		"too few": {200, `{"data":[{"index":0,"embedding":[1]}]}`, llm.CategoryMalformed},
		"twice":   {200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}`, llm.CategoryMalformed},
		"far":     {200, `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[2]}]}`, llm.CategoryMalformed},
		"before": {200, `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[2]}]}`,
			llm.CategoryMalformed},
		"empty": {200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`, llm.CategoryMalformed},
		"no float": {200, `{"data":[{"index":0,"embedding":[1e300]},{"index":1,"embedding":[1]}]}`,
			llm.CategoryMalformed},
		"no JSON": {200, `<html>`, llm.CategoryMalformed},
		"error in a 200": {200, `{"error":{"message":"no such model ` + key + `","type":"invalid_request_error"}}`,
			llm.CategoryInvalid},
		"unknown key": {401, `{"error":{"message":"bad key ` + key + `","code":"invalid_api_key"}}`,
			llm.CategoryAuthentication},
		"no such model":   {404, `{"error":{"message":"none"}}`, llm.CategoryNotFound},
		"sent elsewhere":  {307, ``, llm.CategoryMalformed},
		"its own failure": {500, `oh`, llm.CategoryServer},
	} {
		base := wiretest.Raw(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := embedder(t, openai.EmbedderOptions{BaseURL: base + "/v1", APIKey: key, Model: "m"}).Embed(t.Context(),
			[]string{"a", "b"})
		var p *llm.ProviderError
		if !errors.As(err, &p) || p.Category != c.want || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	base := wiretest.Raw(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the end of the caller
		cancel()
		<-r.Context().Done()
	})
	if _, err := embedder(t, openai.EmbedderOptions{BaseURL: base + "/v1", Model: "m"}).Embed(
		ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
