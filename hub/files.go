package hub

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// What files that are read may hold in memory, in bytes: those being loaded, and those kept because a reader takes them in parts.
const (
	maxLoadingBytes = 64 << 20
	maxKeptBytes    = 32 << 20
	// keepFile is how long a file is kept that nobody reads.
	keepFile = time.Minute
)

// files reads the files of attachments, whole and checked, and gives parts of them.
type files struct {
	journal journal.Journal
	loading *semaphore.Weighted

	mu     sync.Mutex // guards the fields below
	kept   map[fold.AttachmentHash]*list.Element
	recent *list.List // of *file, the one read last in front
	bytes  int
}

type file struct {
	hash   fold.AttachmentHash
	data   []byte // never changed
	readAt time.Time
}

func newFiles(j journal.Journal) *files {
	return &files{
		journal: j, loading: semaphore.NewWeighted(maxLoadingBytes),
		kept: make(map[fold.AttachmentHash]*list.Element), recent: list.New(),
	}
}

// part gives a copy of length bytes of a file from offset on. Both lie within it.
func (f *files) part(ctx context.Context, a fold.Attachment, offset, length int64) ([]byte, error) {
	data := f.find(a.Hash)
	if data == nil {
		room := min(a.Size, maxLoadingBytes)
		if err := f.loading.Acquire(ctx, room); err != nil {
			return nil, err
		}
		defer f.loading.Release(room)
		var err error
		if data, err = f.load(a); err != nil {
			return nil, err
		}
	}
	return append([]byte{}, data[offset:offset+length]...), nil
}

// load reads a file, unless somebody else has done so meanwhile.
func (f *files) load(a fold.Attachment) ([]byte, error) {
	if data := f.find(a.Hash); data != nil {
		return data, nil
	}
	data, err := f.journal.GetBlob(journal.Hash(a.Hash))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != a.Size {
		return nil, fmt.Errorf("the file has %d bytes, where its event says %d", len(data), a.Size)
	}
	f.keep(a.Hash, data)
	return data, nil
}

func (f *files) find(hash fold.AttachmentHash) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.kept[hash]
	if e == nil {
		return nil
	}
	f.recent.MoveToFront(e)
	kept := e.Value.(*file)
	kept.readAt = time.Now()
	return kept.data
}

func (f *files) keep(hash fold.AttachmentHash, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept[hash] != nil {
		return
	}
	f.kept[hash] = f.recent.PushFront(&file{hash: hash, data: data, readAt: time.Now()})
	f.bytes += len(data)
	for f.bytes > maxKeptBytes {
		f.dropLastLocked()
	}
}

// sweep returns a function that drops unused files until ctx ends.
func (f *files) sweep(ctx context.Context) func() {
	return func() {
		ticker := time.NewTicker(keepFile / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f.dropIdle()
			}
		}
	}
}

// dropIdle drops the files that nobody has read for a while.
func (f *files) dropIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	idle := time.Now().Add(-keepFile)
	for e := f.recent.Back(); e != nil && e.Value.(*file).readAt.Before(idle); e = f.recent.Back() {
		f.dropLastLocked()
	}
}

func (f *files) dropLastLocked() {
	last := f.recent.Remove(f.recent.Back()).(*file)
	delete(f.kept, last.hash)
	f.bytes -= len(last.data)
}
