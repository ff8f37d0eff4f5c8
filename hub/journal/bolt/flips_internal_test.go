package bolt

// White-box: which damage readIndex sees cannot be told from outside, where most of it is mended at once.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

// sampleIndex makes an index.db with branches, long values, free pages and deleted entries, and returns its directory.
func sampleIndex(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	j, err := Open(dir, &Options{CheckpointRecords: 150})
	if err != nil {
		t.Fatal(err)
	}
	for round := range int64(4) {
		for i := range 150 {
			id := fmt.Sprintf("conversation-%04d", i*7)
			b := journal.Batch{Conversation: id, After: round, Final: round == 3 && i%3 == 0, Events: [][]byte{[]byte("x")}}
			if round < 2 {
				b.Labels = []string{fmt.Sprint("label-", i%7)}
			}
			if _, err := journal.Append(t.Context(), j, b); err != nil {
				t.Fatal(err)
			}
			if i%10 != 0 {
				continue
			}
			if err := j.SaveState(id, round, bytes.Repeat([]byte{byte('a' + i/10)}, 100+150*(i%50))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// found is what bbolt finds in an index.db: every entry where a cursor comes to it, if it is where a search looks for it. States whose
// checksum is wrong are lost.
type found struct {
	tables string
	states map[string]string
}

func find(db *bbolt.DB) (found, error) {
	var tables strings.Builder
	states := make(map[string]string)
	err := view(db, &journal.DamageError{File: indexFile}, func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			fmt.Fprintf(&tables, "%s\n", name)
			return b.ForEach(func(k, v []byte) error {
				if got := b.Get(k); !bytes.Equal(got, v) || v == nil {
					return fmt.Errorf("%s: %q is not found", name, k)
				}
				if string(name) != string(statesBucket) {
					fmt.Fprintf(&tables, "%x %x\n", k, v)
				} else if state, err := unseal(k, v); err == nil {
					states[string(k)] = string(state)
				}
				return nil
			})
		})
	})
	return found{tables.String(), states}, err
}

// lost returns how many states are in f and not in now, and whether all else is the same.
func (f found) lost(now found) (n int, same bool) {
	for id, state := range now.states {
		if f.states[id] != state {
			return 0, false
		}
	}
	return len(f.states) - len(now.states), f.tables == now.tables
}

// indexTrial flips bits of an index.db.
type indexTrial struct {
	whole       []byte
	want        found
	path        string
	seen, lost  int // flips that were noticed, and that have cost states
	passed      int
	description string
}

func newIndexTrial(t *testing.T) *indexTrial {
	t.Helper()
	path := filepath.Join(sampleIndex(t), indexFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &indexTrial{whole: whole, path: filepath.Join(t.TempDir(), indexFile)}
	r.want = r.contents(t, path)
	return r
}

func (r *indexTrial) contents(t *testing.T, path string) found {
	t.Helper()
	db, err := openDB(path, 0, 0, false)
	if err != nil {
		t.Fatalf("%s: %v", r.description, err)
	}
	defer db.Close()
	all, err := find(db)
	if err != nil {
		t.Fatalf("%s: %v", r.description, err)
	}
	return all
}

// try judges a flip: it is named, or it changes nothing that is found but states, which are then lost, and nothing that is written later.
func (r *indexTrial) try(t *testing.T, at int, bit byte) {
	t.Helper()
	r.description = fmt.Sprintf("flip %#x at %d (page %d, %d)", bit, at, at/os.Getpagesize(), at%os.Getpagesize())
	b := bytes.Clone(r.whole)
	b[at] ^= bit
	if err := os.WriteFile(r.path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readIndex(r.path); err != nil {
		if !isDamage(err) && !errors.Is(err, errIndex) {
			t.Fatalf("%s: an error that names no damage: %v", r.description, err)
		}
		r.seen++
		return
	}
	lost, same := r.want.lost(r.contents(t, r.path))
	if !same {
		t.Fatalf("%s is not noticed, and other entries are found", r.description)
	}
	if lost > 0 {
		r.lost++
	} else {
		r.passed++
	}
	r.write(t)
}

// write changes every leaf of the tables twice, over what seems to be free, and checks that all is as it should be.
func (r *indexTrial) write(t *testing.T) {
	t.Helper()
	db, err := openDB(r.path, 0, 0, false)
	if err != nil {
		t.Fatalf("%s: %v", r.description, err)
	}
	defer db.Close()
	db.NoSync = true
	before, err := find(db)
	for range 2 {
		_, _, e := update(db, &journal.DamageError{File: indexFile}, rewrite)
		err = errors.Join(err, e)
	}
	after, e := find(db)
	if err := errors.Join(err, e); err != nil {
		t.Fatalf("%s: write after it: %v", r.description, err)
	}
	if lost, same := before.lost(after); lost > 0 || !same {
		t.Fatalf("%s: entries are others after a write", r.description)
	}
	if _, err := readIndex(r.path); err != nil {
		t.Fatalf("%s: after a write: %v", r.description, err)
	}
}

// rewrite puts every entry of the tables again.
func rewrite(tx *bbolt.Tx) error {
	for _, name := range tableNames {
		b := tx.Bucket([]byte(name))
		var all []change
		if err := b.ForEach(func(k, v []byte) error {
			all = append(all, change{bytes.Clone(k), bytes.Clone(v)})
			return nil
		}); err != nil {
			return err
		}
		for _, c := range all {
			if err := b.Put(c.key, c.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// A flipped bit of index.db is noticed before it is opened, or changes no answer; states may be lost.
func TestIndexFlips(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	flips := 200
	if *Thorough {
		flips = 2000
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	r := newIndexTrial(t)
	used := len(bytes.TrimRight(r.whole, "\x00"))
	for range flips {
		at := random.IntN(used)
		for r.whole[at] == 0 && random.IntN(10) > 0 {
			at = random.IntN(used)
		}
		r.try(t, at, 1<<random.IntN(8))
	}
	t.Logf("seed %d: of %d flips %d were noticed, %d have lost states, %d did nothing", seed, flips, r.seen, r.lost, r.passed)
	if r.seen == 0 || r.lost == 0 || r.passed == 0 {
		t.Error("too little to prove anything")
	}
}

// What stands beside the entries, over which there is no checksum, is noticed where it would lead bbolt astray.
func TestIndexStructureFlips(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	r := newIndexTrial(t)
	for kind, atLeast := range map[string]int{"branch": 3, "leaf": 20, "freelist": 1} {
		t.Run(kind, func(t *testing.T) {
			ids := r.pages(t, kind)
			if len(ids) < atLeast {
				t.Errorf("%d pages prove too little", len(ids))
			}
			for i, id := range ids {
				if *Thorough || i%4 == 0 || kind == "branch" {
					r.structure(t, id, kind)
				}
			}
			t.Logf("%d were noticed, %d have lost states, %d did nothing", r.seen, r.lost, r.passed)
		})
	}
}

// structure flips bits of a page: of all of it, but of a leaf only of its header and of those of its first and last elements.
func (r *indexTrial) structure(t *testing.T, id int, kind string) {
	t.Helper()
	size := os.Getpagesize()
	page := r.whole[id*size:][:size]
	count := int(binary.NativeEndian.Uint16(page[10:]))
	last := pageHeader + (count-1)*elementSize
	end := last + elementSize
	switch kind {
	case "branch":
		end = last + int(binary.NativeEndian.Uint32(page[last:])) + int(binary.NativeEndian.Uint32(page[last+4:]))
	case "freelist":
		end = pageHeader + 8*count
	}
	for at := range end {
		if kind == "leaf" && at >= pageHeader+elementSize && at < last {
			continue
		}
		passed := r.passed
		if r.try(t, id*size+at, 1<<(at%4*5%8)); kind == "branch" && r.passed > passed {
			t.Errorf("%s of a branch is not noticed", r.description)
		}
	}
}

// pages returns the pages of a kind that are in use.
func (r *indexTrial) pages(t *testing.T, kind string) (ids []int) {
	t.Helper()
	if err := os.WriteFile(r.path, r.whole, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := openDB(r.path, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for id := 0; id < int(tx.Size())/os.Getpagesize(); id++ {
			info, err := tx.Page(id)
			if err != nil || info == nil {
				return err
			}
			if info.Type == kind {
				ids = append(ids, id)
			}
			if info.Type != "free" {
				id += info.OverflowCount
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
