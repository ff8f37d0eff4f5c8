// Package baseline unpacks data directories that earlier versions wrote, for tests:
//
//	data := baseline.Unpack(t, "testdata/baseline/v0.0/data")
package baseline

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Unpack copies the directory from into a temporary directory and returns the path of the copy.
// Files whose names end with .gz are decompressed and lose that ending.
func Unpack(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, zipped := strings.CutSuffix(rel, ".gz")
		if zipped {
			if b, err = unzip(b); err != nil {
				return err
			}
		}
		copied := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return err
		}
		return os.WriteFile(copied, b, 0o600)
	})
	if err != nil {
		t.Fatalf("unpack %s: %v", from, err)
	}
	return to
}

func unzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
