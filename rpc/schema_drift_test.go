package rpc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/internal/schema/generate"
	"github.com/parleyhub/parley/rpc"
)

const (
	schemaDirectory    = "../internal/schema/documents"
	referenceDirectory = "../docs/reference"
)

// TestSchemasAreThoseOfTheCode generates the published documents again and compares them with the
// stored ones.
func TestSchemasAreThoseOfTheCode(t *testing.T) {
	files, err := generate.Documents("..", rpc.ServedMethods())
	if err != nil {
		t.Fatal(err)
	}
	compareFiles(t, schemaDirectory, files)
}

// TestReferenceSchemas generates the reference pages again and compares them with the stored ones.
func TestReferenceSchemas(t *testing.T) {
	files, err := generate.Reference("..", rpc.ServedMethods())
	if err != nil {
		t.Fatal(err)
	}
	compareFiles(t, referenceDirectory, files)
}

// compareFiles compares generated files with those in a directory. With -update it writes them.
func compareFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, fresh := range files {
		path := filepath.Join(dir, name)
		stored, err := os.ReadFile(path)
		if err != nil && !*update {
			t.Fatal(err)
		}
		if err == nil && bytes.Equal(stored, fresh) {
			continue
		}
		if !*update {
			t.Errorf("%s differs from the code (go test ./rpc -run Schemas -update rewrites it):\n%s", name,
				firstDifference(string(stored), string(fresh)))
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
