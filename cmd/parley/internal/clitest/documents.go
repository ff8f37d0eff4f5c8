package clitest

import (
	"os"
	"path/filepath"
	"testing"
)

// Document returns the text of a file of the repository.
func Document(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
