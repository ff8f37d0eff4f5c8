package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// The directory of a replica:
//
//	LOCK      locked while it is open
//	REPLICA   which stream it is of, and whether it is whole: written, and synced, when the replica is opened and closed
//	applied   how far the stream is in the records at least, and how many they were then; not synced
//	records/  a journal of package bolt
const (
	lockFile    = "LOCK"
	replicaFile = "REPLICA"
	appliedFile = "applied"
	recordsDir  = "records"

	replicaVersion = 1
	bootIDFile     = "/proc/sys/kernel/random/boot_id"
)

// replicaState is what REPLICA says.
type replicaState struct {
	Version int    `json:"version"`
	Stream  string `json:"stream"` // its id
	// Boot is of the machine when the replica was opened: since another boot the files may be anything, unless Clean is set.
	Boot  string `json:"boot"`
	Clean bool   `json:"clean"`
	// Damage, if there is some, was met in the records: they are made again.
	Damage string `json:"damage,omitempty"`
	// Seen is how far the stream went at least, when this was written: one that ends before has lost something.
	Seen uint64 `json:"seen"`
}

// replica is the directory of a node. It is derived from the stream.
type replica struct {
	dir     string
	lock    *flock.Flock
	records *bolt.Journal
	applied uint64           // how far the stream is in the records at least
	least   journal.Position // of the last record
	rebuilt error            // why it was made from nothing; nil if it was not

	mu    sync.Mutex // guards the field below, and the file
	state replicaState
}

// openReplica opens the directory, made first if there is none. What cannot be trusted any more is removed, to be made again from the stream; last is where that ends.
func openReplica(dir, stream string, last uint64) (_ *replica, err error) {
	r := &replica{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open replica in %s: %w", dir, err), r.release())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, journal.ErrInUse
	}
	r.lock = lock
	if err := r.look(stream, last); err != nil {
		return nil, err
	}
	if r.rebuilt != nil {
		if err := r.wipe(); err != nil {
			return nil, err
		}
	}
	r.state = replicaState{Version: replicaVersion, Stream: stream, Boot: bootID(), Seen: last}
	if err := r.save(); err != nil {
		return nil, err
	}
	return r, r.openRecords()
}

// openRecords opens the records, and makes them from nothing if they are damaged.
func (r *replica) openRecords() (err error) {
	for range 2 {
		r.records, err = bolt.Open(filepath.Join(r.dir, recordsDir), &bolt.Options{Unsynced: true})
		if err == nil && r.records.Last() >= r.least {
			return nil
		}
		damage := (*journal.DamageError)(nil)
		switch {
		case err == nil:
			err = fmt.Errorf("it has %d records, and had %d", r.records.Last(), r.least)
			err = errors.Join(err, r.records.Close())
		case !errors.As(err, &damage) && !errors.Is(err, journal.ErrFormat):
			return err
		}
		r.records, r.rebuilt = nil, err
		if err := r.wipe(); err != nil {
			return err
		}
	}
	return err
}

// look decides whether what is there can be used.
func (r *replica) look(stream string, last uint64) error {
	b, err := os.ReadFile(filepath.Join(r.dir, replicaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r.lookNew()
	}
	if err != nil {
		return err
	}
	var s replicaState
	if err := json.Unmarshal(b, &s); err != nil {
		r.rebuilt = fmt.Errorf("%s: %w", replicaFile, err)
		return nil
	}
	if s.Version != replicaVersion {
		return fmt.Errorf("%w: %s says %d, this version reads %d", journal.ErrFormat, replicaFile, s.Version, replicaVersion)
	}
	if s.Stream != stream {
		return fmt.Errorf("%w: it is of stream %s, and this is %s; if the replica may be thrown away, remove the directory", ErrOtherStream, s.Stream, stream)
	}
	r.applied, r.least = r.noted()
	if seen := max(s.Seen, r.applied); seen > last {
		return fmt.Errorf("%w: it has seen the stream up to %d, and the stream ends at %d: the stream has lost what it had acknowledged; if it was put back on purpose, remove the directory",
			ErrOtherStream, seen, last)
	}
	if boot := bootID(); !s.Clean && (boot == "" || boot != s.Boot) {
		r.rebuilt = errors.New("the machine has stopped while the replica was open")
	}
	if s.Damage != "" {
		r.rebuilt = errors.New(s.Damage)
	}
	return nil
}

// lookNew refuses to put a replica beside files that are not one's.
func (r *replica) lookNew() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockFile && e.Name() != "lost+found" && !strings.HasPrefix(e.Name(), tempPrefix) {
			return fmt.Errorf("%w: %s has %q and no replica", bolt.ErrNotEmpty, r.dir, e.Name())
		}
	}
	return nil
}

// wipe removes what is derived. How far it went goes first: the rest may stay for a while.
func (r *replica) wipe() error {
	r.applied, r.least = 0, 0
	if err := os.RemoveAll(filepath.Join(r.dir, appliedFile)); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(r.dir, recordsDir))
}

// noted is what the file applied says; 0 if that cannot be read: the stream is then looked at from its beginning, which changes nothing.
func (r *replica) noted() (applied uint64, least journal.Position) {
	b, err := os.ReadFile(filepath.Join(r.dir, appliedFile))
	if err != nil {
		return 0, 0
	}
	if _, err := fmt.Sscanf(string(b), "%d %d\n", &applied, &least); err != nil {
		return 0, 0
	}
	return applied, least
}

// note keeps how far the stream is in the records. Without sync it may be lost.
func (r *replica) note(applied uint64, sync bool) error {
	return writeFile(filepath.Join(r.dir, appliedFile), fmt.Appendf(nil, "%d %d\n", applied, r.records.Last()), sync)
}

func (r *replica) save() error {
	b, err := json.MarshalIndent(r.state, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.dir, replicaFile), append(b, '\n'), true)
}

// seen looks at an error of a call to the records, and gives it back. If they are damaged they are made again when the replica is opened the next time.
func (r *replica) seen(err error) error {
	damage := (*journal.DamageError)(nil)
	if !errors.As(err, &damage) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Damage != "" {
		return err
	}
	r.state.Damage = damage.Error()
	return errors.Join(err, r.save())
}

// close gives the files back; applied is how far the stream is in them.
func (r *replica) close(applied uint64) error {
	noted := r.note(applied, true)
	err := r.records.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && noted == nil {
		r.state.Clean, r.state.Seen = true, max(applied, r.state.Seen)
		err = r.save()
	}
	return errors.Join(err, r.lock.Close()) // what could not be noted is only read again
}

func (r *replica) release() error {
	var errs []error
	if r.records != nil {
		errs = append(errs, r.records.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Close())
	}
	return errors.Join(errs...)
}

// bootID is another after each start of the machine; "" where that cannot be told.
func bootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

const tempPrefix = ".tmp-"

// writeFile makes a file that is there whole or not at all.
func writeFile(path string, data []byte, sync bool) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix) // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil || !sync {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
