package rpc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/internal/schema/generate"
	"github.com/parleyhub/parley/rpc"
)

const schemaDirectory = "../internal/schema/documents"

// TestSchemasAreThoseOfTheCode generates the published documents again and compares them with the
// stored ones.
func TestSchemasAreThoseOfTheCode(t *testing.T) {
	files, err := generate.Documents("..", rpc.ServedMethods())
	if err != nil {
		t.Fatal(err)
	}
	for name, fresh := range files {
		path := filepath.Join(schemaDirectory, name)
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(kept, fresh) {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the code says (go test ./rpc -run Schemas -update rewrites it):\n%s", name,
				firstDifference(string(kept), string(fresh)))
			continue
		}
		if err := os.WriteFile(path, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
