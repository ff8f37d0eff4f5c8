package bolt_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// TestPutBlobAgain: the same bytes are kept once, and mend a file that was damaged; a file that belongs to no event is no damage.
func TestPutBlobAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := bolt.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := j.PutBlob([]byte("the bytes"))
	if err != nil {
		t.Fatal(err)
	}
	size := j.Size()
	if again, err := j.PutBlob([]byte("the bytes")); err != nil || again != h || j.Size() != size {
		t.Errorf("again: %x, %v, size %d, was %d", again, err, j.Size(), size)
	}
	name := hex.EncodeToString(h[:])
	if err := os.WriteFile(filepath.Join(dir, "blobs", name[:2], name[2:]), []byte("The bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	var damage *journal.DamageError
	if data, err := j.GetBlob(h); !errors.As(err, &damage) || data != nil {
		t.Errorf("damaged: %q, %v", data, err)
	}
	if _, err := j.PutBlob([]byte("the bytes")); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = bolt.Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if data, err := j.GetBlob(h); err != nil || string(data) != "the bytes" {
		t.Errorf("mended: %q, %v", data, err)
	}
	if _, err := j.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}
