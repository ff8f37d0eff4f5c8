package serve

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/executors/llm/openai"
	"github.com/parleyhub/parley/hub/vector"
)

// embedderOf finds what is alike in the words of a hub of these settings; nil: the hub's own.
func embedderOf(c *config.Loaded) (vector.Embedder, error) {
	if c.Embeddings == config.EmbeddingsLexical {
		return nil, nil
	}
	e, err := openai.NewEmbedder(&openai.EmbedderOptions{Name: "embeddings", BaseURL: c.Embeddings,
		Model: c.EmbeddingsModel, APIKey: os.Getenv(cli.EnvEmbeddingsKey)})
	if err != nil {
		return nil, fmt.Errorf("use the embeddings of %s: %w", c.Embeddings, err)
	}
	return e, nil
}

// vectorFile is where the vectors of a hub are kept whose log is in a directory; empty: in memory.
func vectorFile(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "vectors")
}
