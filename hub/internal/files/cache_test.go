package files

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// countingJournal counts the files that are read.
type countingJournal struct {
	journal.Journal
	reads int
}

func (j *countingJournal) GetBlob(h journal.Hash) ([]byte, error) {
	j.reads++
	return j.Journal.GetBlob(h)
}

func newCountingJournal(t *testing.T) *countingJournal {
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	return &countingJournal{Journal: j}
}

// store stores files of a size, each with another content.
func (j *countingJournal) store(t *testing.T, number, size int) []fold.Attachment {
	t.Helper()
	var all []fold.Attachment
	for i := range number {
		h, err := j.PutBlob(bytes.Repeat([]byte{byte(i)}, size))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fold.Attachment{Hash: eventdata.AttachmentHash(h), Size: int64(size)})
	}
	return all
}

// readFirst reads the first byte of a file, and checks whether the journal was asked for it.
func readFirst(t *testing.T, c *cache, j *countingJournal, a fold.Attachment, want byte, fromJournal bool) {
	t.Helper()
	before := j.reads
	part, err := c.readPart(t.Context(), a, 0, 1)
	if err != nil || len(part) != 1 || part[0] != want {
		t.Fatalf("read %q, %v, want %q", part, err, want)
	}
	if got := j.reads > before; got != fromJournal {
		t.Errorf("file %d was read from the journal: %v, want %v", want, got, fromJournal)
	}
	part[0]++ // a part is a copy: the next read finds the file unchanged
}

func TestCacheDropsLeastRecentlyRead(t *testing.T) {
	j := newCountingJournal(t)
	c := newCache(j)
	files := j.store(t, 3, parley.MaxAttachmentBytes) // two of them fit
	readFirst(t, c, j, files[0], 0, true)
	readFirst(t, c, j, files[1], 1, true)
	readFirst(t, c, j, files[0], 0, false)
	readFirst(t, c, j, files[2], 2, true)
	readFirst(t, c, j, files[0], 0, false)
	readFirst(t, c, j, files[1], 1, true)
	if c.bytes > maxCachedBytes || c.recent.Len() != len(c.files) {
		t.Errorf("%d bytes in %d files of a list of %d", c.bytes, len(c.files), c.recent.Len())
	}
}

func TestCacheDropsIdleFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newCountingJournal(t)
		c := newCache(j)
		go c.run(t.Context())
		files := j.store(t, 2, 10)
		readFirst(t, c, j, files[0], 0, true)
		readFirst(t, c, j, files[1], 1, true)
		time.Sleep(maxIdle - time.Second)
		readFirst(t, c, j, files[1], 1, false)
		time.Sleep(maxIdle / 2)
		readFirst(t, c, j, files[1], 1, false)
		readFirst(t, c, j, files[0], 0, true)
		time.Sleep(2 * maxIdle)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.bytes != 0 || len(c.files) != 0 {
			t.Errorf("%d bytes in %d files are left", c.bytes, len(c.files))
		}
	})
}
