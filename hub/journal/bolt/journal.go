package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
	"go.etcd.io/bbolt"
)

var _ journal.Journal = (*Journal)(nil)

const (
	lockTimeout = 1500 * time.Millisecond
	lockRetry   = 25 * time.Millisecond
)

// Options are what Open can be told. The zero Options and nil are good.
type Options struct {
	// CheckpointRecords is how many records index.db may be behind before it is brought up to date. 0 means 50,000.
	CheckpointRecords int
	// CheckpointInterval is how long it may be behind. 0 means 3 s.
	CheckpointInterval time.Duration
	// Unsynced leaves the syncing of commits to the operating system: what was committed survives kill -9, but after a loss of power the files may be anything. It
	// is for what can be made again from elsewhere. Close still syncs.
	Unsynced bool
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.CheckpointRecords <= 0 {
		d.CheckpointRecords = 50_000
	}
	if d.CheckpointInterval <= 0 {
		d.CheckpointInterval = 3 * time.Second
	}
	return d
}

// Recovery says what Open found.
type Recovery struct {
	// Records were read from the end of log.db because index.db did not have them.
	Records int
	// Rebuilt says why index.db was made from nothing; it is nil if it was not.
	Rebuilt error
}

// Journal is an open directory. Make one with Open.
type Journal struct {
	dir      string
	lock     *flock.Flock
	log      *bbolt.DB
	id       [16]byte // of log.db
	index    *index
	recovery Recovery

	queue    *submit.Queue
	unsynced bool

	committing sync.Mutex // held by the one commit that is under way; guards the three fields below
	planner    submit.Planner
	arena      []byte
	stuck      bool // log.db cannot be closed

	committer sync.WaitGroup
	flusher   sync.WaitGroup
	stopFlush chan struct{}
	blobBytes atomic.Int64
	shelves   sync.Map // directories of blobs whose names are known to be on the disk
	closing   sync.Once
	closeErr  error

	mu     sync.Mutex // guards the fields below
	last   journal.Position
	watch  chan struct{}
	err    error // of all writes from now on
	closed bool
}

// Open opens the journal in a directory, which it makes if there is none. It fails with journal.ErrInUse if the directory is open
// already, journal.ErrFormat if it is of another version, and a *journal.DamageError if it is not as it was written.
func Open(dir string, o *Options) (_ *Journal, err error) {
	j := &Journal{
		dir: dir, queue: submit.NewQueue(), stopFlush: make(chan struct{}), watch: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open journal in %s: %w", dir, fullOr(err)), j.release())
		}
	}()
	opts := o.withDefaults()
	j.unsynced = opts.Unsynced
	if err := j.openDir(); err != nil {
		return nil, err
	}
	if err := j.openFiles(opts.CheckpointRecords); err != nil {
		return nil, err
	}
	if err := j.sizeBlobs(); err != nil {
		return nil, err
	}
	j.planner.Head = j.index.head
	j.committer.Go(j.commitLoop)
	j.flusher.Go(func() { j.index.run(j.stopFlush, opts.CheckpointInterval) })
	return j, nil
}

// openDir makes the directory if need be, and locks it. One that is something else, or of another version, is left as it is; openLog looks at
// the version again, under the lock. Its name may not be durable yet.
func (j *Journal) openDir() error {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	check := checkEmpty
	if Exists(j.dir) {
		check = checkFormat
	}
	if err := check(j.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	lock := flock.New(filepath.Join(j.dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLockContext(ctx, lockRetry)
	if !locked {
		lock.Close()
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			err = journal.ErrInUse
		}
		return err
	}
	j.lock = lock
	return nil
}

// Dir is the directory of the journal.
func (j *Journal) Dir() string { return j.dir }

// Recovery says what Open found.
func (j *Journal) Recovery() Recovery { return j.recovery }

// Size is the bytes of all files.
func (j *Journal) Size() int64 {
	size := j.blobBytes.Load()
	for _, name := range []string{logFile, indexFile} {
		if info, err := os.Stat(filepath.Join(j.dir, name)); err == nil {
			size += info.Size()
		}
	}
	return size
}

func (j *Journal) isClosed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closed
}

// Close commits what was submitted, brings index.db up to date and closes the files. A failure to write index.db is not an
// error: the next Open makes up for it.
func (j *Journal) Close() error {
	j.closing.Do(func() {
		j.stopWrites()
		close(j.stopFlush)
		j.flusher.Wait()

		j.mu.Lock()
		j.closed = true
		close(j.watch)
		j.mu.Unlock()
		j.closeErr = j.release()
	})
	return j.closeErr
}

// release returns what Open has taken.
func (j *Journal) release() error {
	var errs []error
	if j.index != nil {
		j.index.close()
	}
	if j.log != nil && !j.stuck && j.unsynced {
		errs = append(errs, j.log.Sync())
	}
	if j.log != nil && !j.stuck {
		errs = append(errs, j.log.Close())
	}
	if j.lock != nil {
		errs = append(errs, j.lock.Close())
	}
	return errors.Join(errs...)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
