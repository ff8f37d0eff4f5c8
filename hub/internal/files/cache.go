package files

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
)

// The bounds of the memory for files that are read. A file stays in memory because readers ask for parts.
const (
	maxLoadingBytes = 64 << 20
	maxCachedBytes  = 32 << 20
	maxIdle         = time.Minute
)

// cache reads whole files, checks them, and keeps those that were read last.
type cache struct {
	journal journal.Journal
	loading *semaphore.Weighted

	mu     sync.Mutex // guards the fields below
	files  map[eventdata.AttachmentHash]*list.Element
	recent *list.List // of *file, the one that was read last in front
	bytes  int
}

type file struct {
	hash   eventdata.AttachmentHash
	data   []byte // never changed
	readAt time.Time
}

func newCache(j journal.Journal) *cache {
	return &cache{
		journal: j, loading: semaphore.NewWeighted(maxLoadingBytes),
		files: make(map[eventdata.AttachmentHash]*list.Element), recent: list.New(),
	}
}

// readPart returns a copy of length bytes from offset. Both are within the file.
func (c *cache) readPart(ctx context.Context, a fold.Attachment, offset, length int64) ([]byte, error) {
	data := c.find(a.Hash)
	if data == nil {
		size := min(a.Size, maxLoadingBytes)
		if err := c.loading.Acquire(ctx, size); err != nil {
			return nil, err
		}
		defer c.loading.Release(size)
		var err error
		if data, err = c.load(a); err != nil {
			return nil, err
		}
	}
	return append([]byte{}, data[offset:offset+length]...), nil
}

// load reads a file, unless another call did so in the meantime.
func (c *cache) load(a fold.Attachment) ([]byte, error) {
	if data := c.find(a.Hash); data != nil {
		return data, nil
	}
	data, err := c.journal.GetBlob(journal.Hash(a.Hash))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != a.Size {
		return nil, fmt.Errorf("the file has %d bytes, where its event says %d", len(data), a.Size)
	}
	c.keep(a.Hash, data)
	return data, nil
}

// find returns the data of a file in memory, or nil.
func (c *cache) find(hash eventdata.AttachmentHash) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.files[hash]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	f := e.Value.(*file)
	f.readAt = time.Now()
	return f.data
}

func (c *cache) keep(hash eventdata.AttachmentHash, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[hash] != nil {
		return
	}
	c.files[hash] = c.recent.PushFront(&file{hash: hash, data: data, readAt: time.Now()})
	c.bytes += len(data)
	for c.bytes > maxCachedBytes {
		c.dropLastLocked()
	}
}

// run drops unused files until ctx ends.
func (c *cache) run(ctx context.Context) {
	ticker := time.NewTicker(maxIdle / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.dropIdle()
		}
	}
}

func (c *cache) dropIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := time.Now().Add(-maxIdle)
	for e := c.recent.Back(); e != nil && e.Value.(*file).readAt.Before(idle); e = c.recent.Back() {
		c.dropLastLocked()
	}
}

func (c *cache) dropLastLocked() {
	last := c.recent.Remove(c.recent.Back()).(*file)
	delete(c.files, last.hash)
	c.bytes -= len(last.data)
}
