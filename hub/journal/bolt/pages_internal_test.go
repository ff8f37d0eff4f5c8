package bolt

// White-box: what checkPages makes of a file shows outside only in a few of the files that there can be.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

func TestBitmap(t *testing.T) {
	t.Parallel()
	const n = 1000
	random := rand.New(rand.NewPCG(1, 2))
	b := newBitmap(n)
	var in []uint64
	for range 40 {
		i := random.Uint64N(n)
		b.set(i)
		in = append(in, i)
	}
	for i := range uint64(n) {
		if b.has(i) != slices.Contains(in, i) {
			t.Fatalf("%d: %t", i, b.has(i))
		}
	}
	for range 5000 {
		from, to := random.Uint64N(n), random.Uint64N(n+1)
		var want uint64
		found := false
		for i := from; i < to; i++ {
			if b.has(i) {
				want, found = i, true
			}
		}
		if got, ok := b.last(from, to); ok != found || ok && got != want {
			t.Fatalf("last of %d to %d of %v: %d, %t", from, to, in, got, ok)
		}
	}
}

// What bbolt has written passes, and is given whole, whatever was put, deleted and split before.
func TestCheckPagesPassesAnyHistory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "file")
	db, err := openDB(path, 1024, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.NoSync = true
	want := make(map[string]map[string]string)
	rounds := 50
	if *Thorough {
		rounds = 200
	}
	for range rounds {
		err := db.Update(func(tx *bbolt.Tx) error {
			name := fmt.Sprint("bucket ", random.IntN(3))
			b, err := tx.CreateBucketIfNotExists([]byte(name))
			if err != nil {
				return err
			}
			if want[name] == nil {
				want[name] = make(map[string]string)
			}
			return scribble(random, b, want[name])
		})
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]map[string]string)
		for _, deep := range []entries{nil, collect(got, ""), collect(got, "bucket 1")} {
			if err := checkPages(path, deep); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: other entries than were put", seed)
		}
	}
}

// scribble puts and deletes, at one place or all over.
func scribble(random *rand.Rand, b *bbolt.Bucket, want map[string]string) error {
	base, spread := random.IntN(3000), 1+random.IntN(3000)
	size := []int{10, 100, 5000}[random.IntN(3)]
	erase := random.IntN(2) == 0
	for range random.IntN(150) {
		key := fmt.Sprintf("key %06d%s", base+random.IntN(spread), strings.Repeat("k", random.IntN(60)))
		if erase {
			if k, _ := b.Cursor().Seek([]byte(key)); k != nil {
				key = string(k)
			}
			if err := b.Delete([]byte(key)); err != nil {
				return err
			}
			delete(want, key)
			continue
		}
		value := strings.Repeat("v", random.IntN(size))
		if err := b.Put([]byte(key), []byte(value)); err != nil {
			return err
		}
		want[key] = value
	}
	return nil
}

// collect takes the entries of all buckets but one.
func collect(got map[string]map[string]string, but string) entries {
	return func(bucket []byte) func(key, value []byte) error {
		if string(bucket) == but {
			return nil
		}
		in := make(map[string]string)
		got[string(bucket)] = in
		return func(key, value []byte) error {
			in[string(key)] = string(value)
			return nil
		}
	}
}

// A page that belongs to a leaf which is not read is not free.
func TestFreePageOfUnreadLeaf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), logFile)
	db, err := openDB(path, 1024, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	db.NoSync = true
	for i := range 60 {
		err := db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(logBucket)
			if err != nil {
				return err
			}
			key := keyOf(journal.Position(i + 1))
			return b.Put(key[:], make([]byte, i%7*1000))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages := make(map[string][]run)
	err = db.View(func(tx *bbolt.Tx) error {
		for id := 0; id < int(tx.Size())/1024; id++ {
			info, err := tx.Page(id)
			if err != nil {
				return err
			}
			if info.Type == "free" {
				continue
			}
			pages[info.Type] = append(pages[info.Type], run{id, info.OverflowCount})
			id += info.OverflowCount
		}
		return nil
	})
	if err := errors.Join(err, db.Close(), checkPages(path, nil)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := whole[1024*pages["freelist"][0].id:]
	free := make([]uint64, binary.NativeEndian.Uint16(list[10:]))
	for i := range free {
		free[i] = binary.NativeEndian.Uint64(list[16+8*i:])
	}
	tried := 0
	for _, leaf := range pages["leaf"] {
		for i := range leaf.more + 1 {
			more := slices.Sorted(slices.Values(append(slices.Clone(free), uint64(leaf.id+i))))
			binary.NativeEndian.PutUint16(list[10:], uint16(len(more)))
			for i, id := range more {
				binary.NativeEndian.PutUint64(list[16+8*i:], id)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := checkPages(path, nil); !isDamage(err) {
				t.Errorf("page %d of the %d of a leaf may be free: %v", i+1, leaf.more+1, err)
			}
			tried++
		}
	}
	if tried < 100 || len(free) == 0 {
		t.Errorf("%d pages, %d that are free, prove too little", tried, len(free))
	}
}

// run is a page with more that belong to it.
type run struct{ id, more int }
