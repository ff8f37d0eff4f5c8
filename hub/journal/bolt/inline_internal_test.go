package bolt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// TestInlineBucketFlips: the number of a page in a bucket that lies in the root's page is none, and another is noticed: bbolt would free that page when the bucket grows.
func TestInlineBucketFlips(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	j, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: "c", Events: [][]byte{[]byte("x")}, Labels: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), indexFile)
	for _, name := range tableNames {
		noticed := 0
		for at := range inlineHeaders(whole, name) {
			noticed += len(flipsNoticed(t, path, whole, at))
		}
		if noticed == 0 {
			t.Errorf("no flip in the header of bucket %s is noticed", name)
		}
	}
}

// inlineHeaders returns where the pages of a bucket begin that lies in a page with others, old ones too.
func inlineHeaders(whole []byte, name string) func(func(int) bool) {
	return func(yield func(int) bool) {
		header := append([]byte(name), make([]byte, bucketSize)...) // no root, no sequence
		for from := 0; ; {
			i := bytes.Index(whole[from:], header)
			if i < 0 || !yield(from+i+len(header)) {
				return
			}
			from += i + len(header)
		}
	}
}

// flipsNoticed flips a bit of each byte of a page's number and overflow. All are noticed, or none, in a page that is not used.
func flipsNoticed(t *testing.T, path string, whole []byte, at int) (noticed []int) {
	t.Helper()
	tried := 0
	for i := range pageHeader {
		if i >= 8 && i < 12 {
			continue // flags and count
		}
		tried++
		b := bytes.Clone(whole)
		b[at+i] ^= 0x10
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readIndex(path); err != nil {
			noticed = append(noticed, i)
		}
	}
	if len(noticed) > 0 && len(noticed) < tried {
		t.Errorf("at %d only %v of %d flips are noticed", at, noticed, tried)
	}
	return noticed
}
