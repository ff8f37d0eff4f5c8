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
