package bolt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"go.etcd.io/bbolt"
)

// sample fills a new journal, closed again, with some of everything, and returns its directory.
func sample(t testing.TB, conversations int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	j := open(t, dir, nil)
	for round := range 4 {
		for i := range conversations {
			id := fmt.Sprintf("conversation-%d", i)
			b := journaltest.Batch(id, int64(2*round), fmt.Sprintf(`{"seq":%d,"text":"%s"}`, 2*round+1, strings.Repeat("text ", 1+i%60)), "second")
			if round == 0 {
				b.Labels = []string{"participant:a", fmt.Sprint("participant:", i%5)}
			}
			b.Final = round == 3 && i%3 == 0
			if _, err := journal.Append(t.Context(), j, b); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.SaveState("conversation-0", int64(round), []byte("state")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.PutBlob([]byte("an attachment")); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	return dir
}

// contents is everything that a journal says.
func contents(j journal.Journal) (string, error) {
	var b strings.Builder
	var last journal.Position
	heads := make(map[string]bool)
	for {
		page, err := j.Scan(last, 100, 1<<20)
		if err != nil {
			return "", err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			fmt.Fprintf(&b, "%d %s %d %x %t %q %s\n", r.Position, r.Conversation, r.Seq, r.Hash, r.Final, r.Labels, r.Data)
			last = r.Position
			heads[r.Conversation] = true
		}
	}
	open, err := j.Open("", 1000)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&b, open)
	for _, label := range []string{"", "participant:a", "participant:3"} {
		rows, err := j.Labeled(label, 0, 1000)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, rows)
	}
	for _, row := range []int{0, 1, 2} {
		id := fmt.Sprintf("conversation-%d", row)
		h, err := j.Head(id)
		if err != nil {
			return "", err
		}
		records, err := j.Read(id, 0, 100, 1<<20)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, h, len(records))
	}
	return b.String(), nil
}

// outcome opens a directory and returns what it holds, after Verify and a few appends, or the error that one of them gave.
func outcome(t testing.TB, dir string) (string, bolt.Recovery, error) {
	j, err := bolt.Open(dir, nil)
	if err != nil {
		return "", bolt.Recovery{}, err
	}
	defer j.Close()
	if _, err := j.Verify(t.Context()); err != nil {
		return "", j.Recovery(), err
	}
	all, err := contents(j)
	if err != nil {
		return "", j.Recovery(), err
	}
	for i := range int64(3) { // over pages that only seem to be free
		event := strings.Repeat("later ", 2000)
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("later", i, event)); err != nil {
			return "", j.Recovery(), err
		}
	}
	journaltest.CheckInvariants(t, j)
	if err := j.Close(); err != nil {
		return "", j.Recovery(), err
	}
	again := open(t, dir, nil)
	defer again.Close()
	journaltest.CheckInvariants(t, again)
	return all, j.Recovery(), nil
}

func mustOutcome(t testing.TB, dir string) (string, bolt.Recovery) {
	t.Helper()
	all, rec, err := outcome(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return all, rec
}

// checkDamage checks that a directory that was tampered with is refused with the damage named, or is whole. It says which.
func checkDamage(t *testing.T, dir, want, what string) (refused bool) {
	t.Helper()
	got, _, err := outcome(t, dir)
	var damage *journal.DamageError
	switch {
	case errors.As(err, &damage) && damage.What != "" && damage.File != "", errors.Is(err, journal.ErrFormat):
		return true
	case err != nil:
		t.Errorf("%s: an error that does not name the damage: %v", what, err)
	case got != want:
		t.Errorf("%s: other contents are served as if whole", what)
	}
	return false
}

func TestBitFlips(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	flips := 80
	if *bolt.Thorough {
		flips = 300
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	dir := sample(t, 60)
	want, _ := mustOutcome(t, copyDir(t, dir))
	files := []string{"log.db", "log.db", "log.db", "index.db", "index.db", "FORMAT"}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	if err != nil || len(blobs) != 1 {
		t.Fatal(blobs, err)
	}
	rel, err := filepath.Rel(dir, blobs[0])
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, rel)
	refused := make(map[string]int)
	for i := range flips {
		name := files[i%len(files)]
		work := filepath.Join(t.TempDir(), "work")
		if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(work, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var at []int
		for range 1 + i%3/2*7 { // one bit, and now and then some
			at = append(at, flip(random, b))
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if checkDamage(t, work, want, fmt.Sprintf("seed %d: %s, bits at %d", seed, name, at)) {
			refused[name]++
			if name == "index.db" {
				t.Errorf("seed %d: a flip at %d of index.db was not mended", seed, at)
			}
		}
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("seed %d: of %d flips refused: %v", seed, flips, refused)
	if refused["log.db"] == 0 || refused["FORMAT"] == 0 || refused[rel] == 0 {
		t.Errorf("seed %d: no flip was noticed somewhere: %v", seed, refused)
	}
}

// flip flips a bit of b, mostly where there is something.
func flip(random *rand.Rand, b []byte) int {
	at := random.IntN(len(b))
	for b[at] == 0 && random.IntN(40) > 0 {
		at = random.IntN(len(b))
	}
	b[at] ^= 1 << random.IntN(8)
	return at
}

func TestTruncatedOrZeroed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := sample(t, 60)
	want, _ := mustOutcome(t, copyDir(t, dir))
	for _, name := range []string{"log.db", "index.db"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		used := len(bytes.TrimRight(whole, "\x00"))
		refused := 0
		for i := range 24 {
			b := bytes.Clone(whole)
			what := ""
			if i%2 == 0 {
				b = b[:used*i/24]
				what = fmt.Sprintf("%s cut to %d of %d bytes", name, len(b), used)
			} else {
				from := used * i / 24 &^ 4095
				clear(b[from : from+4096])
				what = fmt.Sprintf("%s zeroed at %d", name, from)
			}
			work := copyDir(t, dir)
			if err := os.WriteFile(filepath.Join(work, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if checkDamage(t, work, want, what) {
				refused++
			}
		}
		if name == "index.db" && refused > 0 || name == "log.db" && refused < 12 {
			t.Errorf("%s: refused %d times", name, refused)
		}
	}
}

// Damage that bbolt would follow in circles or write over what is in use.
func TestDamagedTree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	whole := sample(t, 60)
	for name, change := range map[string]func(b []byte){
		"branch points to itself": func(b []byte) {
			pages(b, 1, func(id uint64, page []byte) { binary.NativeEndian.PutUint64(page[16+8:], id) })
		},
		"last child points to itself": func(b []byte) {
			pages(b, 1, func(id uint64, page []byte) {
				n := int(binary.NativeEndian.Uint16(page[10:]))
				binary.NativeEndian.PutUint64(page[16*n+8:], id)
			})
		},
		"child twice": func(b []byte) {
			pages(b, 1, func(_ uint64, page []byte) { copy(page[16+8:16+16], page[32+8:32+16]) })
		},
		"child out of the file": func(b []byte) {
			pages(b, 1, func(_ uint64, page []byte) { binary.NativeEndian.PutUint64(page[16+8:], 1<<40) })
		},
		"pages of records are free": func(b []byte) {
			var leaf uint64
			pages(b, 1, func(_ uint64, page []byte) { leaf = binary.NativeEndian.Uint64(page[16+8:]) })
			pages(b, 16, func(_ uint64, page []byte) {
				binary.NativeEndian.PutUint16(page[10:], 1)
				binary.NativeEndian.PutUint64(page[16:], leaf)
			})
		},
		"endless free list": func(b []byte) {
			pages(b, 16, func(_ uint64, page []byte) {
				binary.NativeEndian.PutUint16(page[10:], 0xFFFF)
				binary.NativeEndian.PutUint64(page[16:], 1<<50)
			})
		},
		"leaves end early": func(b []byte) {
			pages(b, 2, func(_ uint64, page []byte) {
				n := binary.NativeEndian.Uint16(page[10:])
				binary.NativeEndian.PutUint16(page[10:], n-min(n, 2))
			})
		},
		"leaves reach over others": func(b []byte) {
			pages(b, 2, func(_ uint64, page []byte) { binary.NativeEndian.PutUint32(page[12:], 3) })
		},
		"last leaf ends early": func(b []byte) {
			page := leaf(b, true)
			binary.NativeEndian.PutUint16(page[10:], binary.NativeEndian.Uint16(page[10:])-2)
		},
		"value of gigabytes":       func(b []byte) { binary.NativeEndian.PutUint32(leaf(b, false)[16+12:], 1<<31-1) },
		"value out of the mapping": func(b []byte) { binary.NativeEndian.PutUint32(leaf(b, false)[16+4:], 1<<30) },
		"value in the last leaf out of the mapping": func(b []byte) {
			binary.NativeEndian.PutUint32(leaf(b, true)[16+4:], 1<<30)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyDir(t, whole)
			edit(t, dir, change)
			without := copyDir(t, dir)
			if err := os.Remove(filepath.Join(without, "index.db")); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{dir, without} {
				_, _, err := outcome(t, dir)
				var damage *journal.DamageError
				if !errors.As(err, &damage) || damage.File != "log.db" {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

// The file is cut under an open journal: what can no longer be read is an error of the call, and Close comes to an end.
func TestTruncatedWhileOpen(t *testing.T) {
	t.Parallel()
	dir := sample(t, 60)
	j, err := bolt.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "log.db"), 3*pageSize); err != nil {
		t.Fatal(err)
	}
	var damage *journal.DamageError
	if _, err := j.Read("conversation-1", 0, 10, 1<<20); !errors.As(err, &damage) {
		t.Errorf("read: %v", err)
	}
	if _, err := j.Scan(0, 10, 1<<20); !errors.As(err, &damage) {
		t.Errorf("scan: %v", err)
	}
	if _, err := j.Verify(t.Context()); !errors.As(err, &damage) {
		t.Errorf("verify: %v", err)
	}
	for range 2 {
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("new", 0, "x")); !errors.Is(err, journal.ErrOutcomeUnknown) {
			t.Errorf("append: %v", err)
		}
	}
	j.Close()
	if _, err := bolt.Open(dir, nil); !errors.As(err, &damage) && !errors.Is(err, journal.ErrInUse) {
		t.Errorf("open: %v", err)
	}
}

// tamper changes the record at a position and makes its checksum good again.
func tamper(t testing.TB, dir string, p uint64, change func(record []byte)) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "log.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("log"))
		key := binary.BigEndian.AppendUint64(nil, p)
		v := bytes.Clone(b.Get(key))
		body := v[:len(v)-4]
		change(body)
		sum := crc32.Checksum(append(bytes.Clone(key), body...), crc32.MakeTable(crc32.Castagnoli))
		return b.Put(key, binary.BigEndian.AppendUint32(body, sum))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrokenChain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(record []byte){
		"data": func(r []byte) { r[len(r)-1]++ },
		"hash": func(r []byte) { r[12]++ },
		"seq":  func(r []byte) { r[11]++ },
		"id":   func(r []byte) { r[48]++ },
	} {
		t.Run(name, func(t *testing.T) {
			dir := sample(t, 10)
			j := open(t, dir, nil)
			victim, err := j.Scan(40, 1, 1<<20)
			if err != nil || len(victim) != 1 {
				t.Fatal(err)
			}
			v := victim[0]
			closeJournal(t, j)
			tamper(t, dir, uint64(v.Position), change)
			j = open(t, dir, nil) // behind the checkpoint: Open does not read it
			if r := j.Recovery(); r.Rebuilt != nil || r.Records != 0 {
				t.Fatalf("recovery %+v", r)
			}
			check := func(call string, err error) {
				t.Helper()
				var damage *journal.DamageError
				if !errors.As(err, &damage) || damage.Position != v.Position {
					t.Errorf("%s: %v, want damage at %d", call, err, v.Position)
				}
			}
			_, err = j.Read(v.Conversation, 0, 100, 1<<20)
			check("Read", err)
			_, err = j.Read(v.Conversation, v.Seq-1, 1, 1<<20)
			check("Read from there", err)
			_, err = j.Scan(0, 100, 1<<20)
			check("Scan", err)
			_, err = j.Scan(v.Position-1, 1, 1<<20)
			check("Scan from there", err)
			_, err = j.Verify(t.Context())
			check("Verify", err)
			if r, err := j.Read("conversation-9", 0, 100, 1<<20); err != nil || len(r) != 8 {
				t.Errorf("another conversation: %d records, %v", len(r), err)
			}
			closeJournal(t, j)
			if err := os.Remove(filepath.Join(dir, "index.db")); err != nil {
				t.Fatal(err)
			}
			_, err = bolt.Open(dir, nil)
			check("Open without index.db", err)
		})
	}
}

// The log is put back to an older state than index.db knows: its end is lost, and that shows.
func TestLostEnd(t *testing.T) {
	t.Parallel()
	dir := sample(t, 10)
	older := copyDir(t, dir)
	j := open(t, dir, nil)
	journaltest.Append(t, j, "later", 0, "x")
	closeJournal(t, j)
	b, err := os.ReadFile(filepath.Join(older, "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "log.db"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = bolt.Open(dir, nil)
	var damage *journal.DamageError
	if !errors.As(err, &damage) || damage.File != "log.db" || damage.Position != 80 {
		t.Errorf("open: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "index.db")); err != nil {
		t.Fatal(err)
	}
	journaltest.CheckInvariants(t, open(t, dir, nil))
	if err := os.Remove(filepath.Join(older, "log.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(older, nil); !errors.As(err, &damage) || damage.What != "file missing" {
		t.Errorf("open without log.db: %v", err)
	}
}
