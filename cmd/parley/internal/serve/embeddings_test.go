package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// TestEmbeddingsAreAskedFor: the server of the settings is asked, by its model and with the key of
// the environment; lexical is the hub's own.
func TestEmbeddingsAreAskedFor(t *testing.T) {
	var model, key string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model string
			Input []string
		}
		_ = json.NewDecoder(r.Body).Decode(&asked) // the test looks at the request
		model, key = asked.Model, r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(
			`{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[1,0.5]}],` +
				`"usage":{"prompt_tokens":1,"total_tokens":1}}`))
	}))
	defer s.Close()
	t.Setenv(cli.EnvEmbeddingsKey, "canary")
	settings := &config.Loaded{Config: config.Config{Embeddings: s.URL + "/v1", EmbeddingsModel: "nomic"}}
	e, err := embedderOf(settings)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"hello"})
	if err != nil || len(vectors) != 1 || model != "nomic" || key != "Bearer canary" {
		t.Errorf("%v, %v, model %q, key %q", vectors, err, model, key)
	}
	if !strings.Contains(e.Name(), "nomic") || strings.Contains(e.Name(), "canary") {
		t.Errorf("its name is %s", e.Name())
	}
	if e, err := embedderOf(&config.Loaded{Config: config.Config{Embeddings: config.EmbeddingsLexical}}); e != nil ||
		err != nil {
		t.Errorf("lexical: %v, %v, expected the hub's own", e, err)
	}
	if vectorFile("") != "" || vectorFile("d") == "" {
		t.Error("vectors are kept beside the log, and in memory where that is")
	}
}
