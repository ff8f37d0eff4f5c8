package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/schematest"
)

var docs = filepath.Join("..", "..", "..", "..", "docs")

// The published schema and table are those of the code.
func TestPublished(t *testing.T) {
	golden.Compare(t, filepath.Join(docs, "parley.schema.json"), config.Schema())
	golden.CompareSection(t, filepath.Join(docs, "reference", "configuration.md"), "<!-- settings: made from the code -->\n",
		"<!-- end of settings -->\n", config.Table())
}

// The schema accepts what Load accepts. It refuses what Load refuses, except faults that it cannot
// express.
func TestSchemaAgrees(t *testing.T) {
	s := schematest.Compile(t, config.Schema())
	loadOnly := []string{"precise", "alias", "tags", "control"}
	for _, name := range slices.Concat(files(t, "good"), files(t, "faults")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, loadErr := config.Load(config.Sources{File: name})
		schemaErr := schematest.Validate(s, text)
		if base := strings.TrimSuffix(filepath.Base(name), ".yaml"); loadErr != nil && slices.Contains(loadOnly, base) {
			continue
		}
		if (loadErr == nil) != (schemaErr == nil) {
			t.Errorf("%s: Load says %v, the Schema says %v", name, loadErr, schemaErr)
		}
	}
}

// An invalid value of each setting is refused by both.
func TestSchemaSeesEveryFault(t *testing.T) {
	s := schematest.Compile(t, config.Schema())
	for _, setting := range config.Settings {
		for _, value := range []string{"[[]]", "{a: b}", "\"\\n\"", "''", "-1", "1e30", "[1]", "~"} {
			text := asYAML(setting, "X")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "['X']", value), "X", value)
			file := filepath.Join(t.TempDir(), "parley.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, loadErr := config.Load(config.Sources{File: file})
			schemaErr := schematest.Validate(s, []byte(text))
			if loadErr == nil || schemaErr == nil {
				t.Errorf("%q: Load says %v, the Schema says %v", text, loadErr, schemaErr)
			}
		}
	}
}
