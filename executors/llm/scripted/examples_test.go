package scripted_test

import (
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/executors/llm/scripted"
)

// The scripts of the examples are valid.
func TestExamples(t *testing.T) {
	dirs, err := filepath.Glob("../../../examples/llm/*/scripts")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%q, %v", dirs, err)
	}
	for _, dir := range dirs {
		if _, err := scripted.New(&scripted.Options{Dir: dir}); err != nil {
			t.Error(err)
		}
	}
}
