package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	minAllocSize = 512 << 10
	maxAllocSize = 64 << 20
)

// guard runs fn, which reads pages that may be damaged. bbolt answers those with panics, or follows them out of the mapping;
// both become a *journal.DamageError that names place.
func guard(place *journal.DamageError, fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			place.What = fmt.Sprintf("page (%v)", r)
			err = place
		}
	}()
	return fn()
}

// view runs fn in a read transaction. fn keeps nothing of it and is short: an open transaction keeps pages from being reused.
func view(db *bbolt.DB, place *journal.DamageError, fn func(*bbolt.Tx) error) error {
	err := guard(place, func() error { return db.View(fn) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return journal.ErrClosed
	}
	return err
}

// update runs fn in a write transaction, whose id it returns, and commits it. With stuck, bbolt's locks could not be given back after a
// panic: the database can be neither written nor closed any more.
func update(db *bbolt.DB, place *journal.DamageError, fn func(*bbolt.Tx) error) (id int, stuck bool, err error) {
	var tx *bbolt.Tx
	err = guard(place, func() (err error) {
		growInSteps(db)
		if tx, err = db.Begin(true); err != nil {
			return err
		}
		id = tx.ID()
		if err := fn(tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	})
	if isDamage(err) && tx != nil {
		stuck = isDamage(guard(&journal.DamageError{}, tx.Rollback))
	}
	return id, stuck, err
}

// growInSteps lets the file grow by an eighth of its size at a time: small ones stay small, large ones seldom wait for it.
func growInSteps(db *bbolt.DB) {
	size := 0
	if err := db.View(func(tx *bbolt.Tx) error { size = int(tx.Size()); return nil }); err == nil {
		db.AllocSize = min(max(size/8, minAllocSize), maxAllocSize)
	}
}

// isDamage reports whether err names damage.
func isDamage(err error) bool {
	var damage *journal.DamageError
	return errors.As(err, &damage)
}

// isFull reports whether err says that there is no room. bbolt drops the type of some errors, so their text counts too.
func isFull(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) || strings.Contains(err.Error(), e.Error()) {
			return true
		}
	}
	return errors.Is(err, berrors.ErrMaxSizeReached)
}

// fullOr makes err journal.ErrStorageFull if it says so.
func fullOr(err error) error {
	if err != nil && isFull(err) {
		return fmt.Errorf("%w: %w", journal.ErrStorageFull, err)
	}
	return err
}
