package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"syscall"
	"testing"
	"unsafe"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"go.etcd.io/bbolt"
)

type writeAt = func(b []byte, off int64) (int, error)

// hookWrites puts hook in front of the writes of a bbolt database. bbolt offers no door for that, so it goes through the wall.
func hookWrites(t testing.TB, db *bbolt.DB, hook func(b []byte, off int64, write writeAt) (int, error)) (unhook func()) {
	t.Helper()
	field := reflect.ValueOf(db).Elem().FieldByName("ops").FieldByName("writeAt")
	write := (*writeAt)(unsafe.Pointer(field.UnsafeAddr()))
	real := *write
	set := func(w writeAt) {
		tx, err := db.Begin(true) // no one else writes
		if err != nil {
			t.Fatal(err)
		}
		*write = w
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	set(func(b []byte, off int64) (int, error) { return hook(b, off, real) })
	return func() { set(real) }
}

func isMeta(db *bbolt.DB, off int64) bool { return off < 2*int64(db.Info().PageSize) }

// batchOfPages needs several pages.
func batchOfPages(after int64) journal.Batch {
	b := journal.Batch{Conversation: "c", After: after}
	for i := range 5 {
		b.Events = append(b.Events, bytes.Repeat([]byte{byte('a' + i)}, 20<<10))
	}
	return b
}

// Every write of a commit in turn finds no room: nothing of the batch is in the log, reads continue, and the same batch
// is taken when there is room.
func TestStorageFullAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, short := range []int{0, 100} { // bytes that are written before the error, of data pages
		t.Run(fmt.Sprint(short), func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, nil)
			head := journaltest.Append(t, j, "c", 0, "first")
			failed := 0
			for n := 1; ; n++ {
				hit := false
				count := 0
				unhook := hookWrites(t, j.LogDB(), func(b []byte, off int64, write writeAt) (int, error) {
					if count++; count != n {
						return write(b, off)
					}
					hit = true
					if isMeta(j.LogDB(), off) {
						return 0, syscall.ENOSPC
					}
					write(b[:short], off)
					return short, &os.PathError{Op: "write", Path: "log.db", Err: syscall.ENOSPC}
				})
				_, err := journal.Append(t.Context(), j, batchOfPages(head.Seq))
				unhook()
				if !hit {
					if err != nil {
						t.Fatalf("no write failed, but %v", err)
					}
					break
				}
				failed++
				if !errors.Is(err, journal.ErrStorageFull) || errors.Is(err, journal.ErrOutcomeUnknown) {
					t.Fatalf("write %d finds no room: %v", n, err)
				}
				if h, err := j.Head("c"); err != nil || h != head {
					t.Fatalf("head after the refusal: %+v, %v, want %+v", h, err, head)
				}
				if r, err := j.Scan(journal.Position(head.Seq), 10, 1<<20); err != nil || len(r) != 0 {
					t.Fatalf("scan after the refusal: %d records, %v", len(r), err)
				}
				if head, err = journal.Append(t.Context(), j, batchOfPages(head.Seq)); err != nil {
					t.Fatalf("with room again: %v", err)
				}
			}
			if failed < 5 {
				t.Errorf("only %d writes failed", failed)
			}
			journaltest.CheckInvariants(t, j)
			closeJournal(t, j)
			journaltest.CheckInvariants(t, open(t, dir, nil))
		})
	}
}

// An error of the meta page's write may leave the transaction in the file: no one can say. bbolt's own readers see it by then;
// the journal's must not.
func TestErrorAfterMetaIsUnknown(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		t.Run(errno.Error(), func(t *testing.T) {
			j := open(t, t.TempDir(), nil)
			journaltest.Append(t, j, "c", 0, "first")
			unhook := hookWrites(t, j.LogDB(), func(b []byte, off int64, write writeAt) (int, error) {
				n, err := write(b, off)
				if err == nil && isMeta(j.LogDB(), off) {
					err = errno
				}
				return n, err
			})
			_, err := journal.Append(t.Context(), j, journaltest.Batch("c", 1, "second"))
			unhook()
			checkUnknown(t, j, err)
			closeJournal(t, j)
			j = open(t, j.Dir(), nil)
			if h, err := j.Head("c"); err != nil || h.Seq != 2 {
				t.Errorf("head after reopening: %+v, %v; the transaction was written", h, err)
			}
			journaltest.CheckInvariants(t, j)
		})
	}
}

// checkUnknown checks a journal whose last commit, of seq 2 of c, has ended with err.
func checkUnknown(t *testing.T, j *bolt.Journal, err error) {
	t.Helper()
	if !errors.Is(err, journal.ErrOutcomeUnknown) || errors.Is(err, journal.ErrStorageFull) {
		t.Fatalf("append: %v", err)
	}
	if !errors.Is(j.Err(), journal.ErrOutcomeUnknown) {
		t.Errorf("Err: %v", j.Err())
	}
	for _, after := range []int64{0, 1, 2} {
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", after, "later")); !errors.Is(err, journal.ErrOutcomeUnknown) {
			t.Errorf("append after %d later: %v", after, err)
		}
	}
	if h, err := j.Head("c"); err != nil || h.Seq != 1 {
		t.Errorf("head: %+v, %v", h, err)
	}
	if r, err := j.Scan(0, 10, 1<<20); err != nil || len(r) != 1 {
		t.Errorf("scan shows what is not known to be durable: %+v, %v", r, err)
	}
	if rep, err := j.Verify(t.Context()); err != nil || rep.Records != 1 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// A failing disk ends the writing, even where nothing was written.
func TestErrorOfDataPage(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), nil)
	journaltest.Append(t, j, "c", 0, "first")
	unhook := hookWrites(t, j.LogDB(), func([]byte, int64, writeAt) (int, error) { return 0, syscall.EIO })
	_, err := journal.Append(t.Context(), j, journaltest.Batch("c", 1, "second"))
	unhook()
	checkUnknown(t, j, err)
	closeJournal(t, j)
	journaltest.Append(t, open(t, j.Dir(), nil), "c", 1, "second")
}

// index.db is derived: a full disk must not hurt what is in the log, now or later.
func TestStorageFullForIndex(t *testing.T) {
	t.Parallel()
	o := &bolt.Options{CheckpointRecords: 10}
	j := open(t, t.TempDir(), o)
	unhook := hookWrites(t, j.IndexDB(), func([]byte, int64, writeAt) (int, error) { return 0, syscall.ENOSPC })
	var seq int64
	for {
		h, err := journal.Append(t.Context(), j, journaltest.Batch("c", seq, "x"))
		if errors.Is(err, journal.ErrStorageFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seq = h.Seq; seq > 1000 {
			t.Fatal("index.db may be behind without bound")
		}
	}
	if seq < 10 {
		t.Errorf("refused after %d records", seq)
	}
	journaltest.CheckInvariants(t, j)
	crashed := open(t, copyDir(t, j.Dir()), o)
	journaltest.CheckInvariants(t, crashed)
	if got := crashed.Recovery(); int64(got.Records) != seq || got.Rebuilt != nil {
		t.Errorf("recovery %+v", got)
	}
	unhook()
	for range 100 {
		h, err := journal.Append(t.Context(), j, journaltest.Batch("c", seq, "x"))
		if err != nil {
			t.Fatalf("with room again: %v", err)
		}
		seq = h.Seq
	}
	journaltest.CheckInvariants(t, j)
}
