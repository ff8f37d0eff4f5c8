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
//	REPLICA   its stream, and whether it is intact: written and synced when the replica is opened and closed
//	applied   a lower bound of the applied position, and the number of records then; not synced
//	records/  a journal of package bolt
const (
	lockFile    = "LOCK"
	replicaFile = "REPLICA"
	appliedFile = "applied"
	recordsDir  = "records"

	replicaVersion = 1
	bootIDFile     = "/proc/sys/kernel/random/boot_id"
)

// replicaState is the content of REPLICA.
type replicaState struct {
	Version int    `json:"version"`
	Stream  string `json:"stream"` // its id
	// Boot is the boot id of the machine when the replica was opened. After another boot the files
	// may be damaged, unless Clean is set.
	Boot  string `json:"boot"`
	Clean bool   `json:"clean"`
	// Damage, if not empty, was found in the records. Then they are restored.
	Damage string `json:"damage,omitempty"`
	// Seen is a lower bound of the end of the stream at the time of writing. A stream that ends
	// before has lost messages.
	Seen uint64 `json:"seen"`
}

// replica is the directory of a node. It is derived from the stream.
type replica struct {
	dir     string
	lock    *flock.Flock
	records *bolt.Journal
	applied uint64           // a lower bound of the position of the stream that the records have
	least   journal.Position // of the last record
	rebuilt error            // why it was restored from the stream; nil if it was not

	mu    sync.Mutex // guards the field below, and the file
	state replicaState
}

// openReplica opens the directory, or creates it. It removes files that cannot be trusted, so that
// they are restored from the stream; last is the end of the stream.
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

// openRecords opens the records. It removes damaged ones.
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

// look checks whether the existing files can be used.
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
		return fmt.Errorf("%w: it is of stream %s, and this is %s; if the replica may be thrown away, remove the directory",
			ErrOtherStream, s.Stream, stream)
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

// lookNew refuses to create a replica beside other files.
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

// wipe removes the derived files, first the applied position.
func (r *replica) wipe() error {
	r.applied, r.least = 0, 0
	if err := os.RemoveAll(filepath.Join(r.dir, appliedFile)); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(r.dir, recordsDir))
}

// noted returns the content of the file applied. It returns 0 if that cannot be read; then the
// stream is applied from its start, which changes nothing.
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

// note saves the applied position. Without sync it may be lost.
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

// seen returns err, an error of a call to the records. If they are damaged, the next open restores
// them.
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

// close closes the files; applied is the position of the stream that they have.
func (r *replica) close(applied uint64) error {
	noted := r.note(applied, true)
	err := r.records.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && noted == nil {
		r.state.Clean, r.state.Seen = true, max(applied, r.state.Seen)
		err = r.save()
	}
	return errors.Join(err, r.lock.Close()) // a position that is not saved only makes the next start slower
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

// bootID returns an id that changes with each boot of the machine, or "" if it is unknown.
func bootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

const tempPrefix = ".tmp-"

// writeFile writes a file as a whole or not at all.
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
