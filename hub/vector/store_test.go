package vector_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/parleyhub/parley/hub/vector"
)

func store(t testing.TB, path string) *vector.Store {
	t.Helper()
	s := vector.NewStore(path)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t testing.TB, s *vector.Store, embedder, text string, v ...float32) {
	t.Helper()
	if err := s.Put(embedder, []string{text}, [][]float32{v}); err != nil {
		t.Fatal(err)
	}
}

// has fails the test unless the store returns v for a text; a nil v means no vector.
func has(t testing.TB, s *vector.Store, embedder, text string, v ...float32) {
	t.Helper()
	got, err := s.Get(embedder, []string{text}, 0)
	if err != nil || !slices.Equal(got[0], v) {
		t.Errorf("%s of %s: %v, %v; want %v", text, embedder, got, err, v)
	}
}

func TestStoreKeepsByEmbedderAndText(t *testing.T) {
	for _, kind := range []string{"file", "memory"} {
		t.Run(kind, func(t *testing.T) {
			path := ""
			if kind == "file" {
				path = filepath.Join(t.TempDir(), "vectors")
			}
			s := store(t, path)
			has(t, s, "m", "a")
			put(t, s, "m", "a", 1, 2)
			put(t, s, "n", "a", 3, 4, 5)
			put(t, s, "m", "b", 6, 7)
			has(t, s, "m", "a", 1, 2)
			has(t, s, "n", "a", 3, 4, 5)
			has(t, s, "n", "b")
			put(t, s, "m", "a", 8, 9, 10)
			has(t, s, "m", "a", 8, 9, 10)
			if got, err := s.Get("m", []string{"a", "b", "c"}, 2); err != nil || got[0] != nil ||
				!slices.Equal(got[1], []float32{6, 7}) || got[2] != nil {
				t.Errorf("of length 2: %v, %v", got, err)
			}
			if err := s.Put("m", []string{"x"}, [][]float32{{}}); !errors.Is(err, vector.ErrVectors) {
				t.Errorf("no numbers: %v", err)
			}
			if kind == "memory" {
				return
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get("m", []string{"b"}, 0); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after close: %v", err)
			}
			s = store(t, path)
			has(t, s, "m", "a", 8, 9, 10)
			has(t, s, "n", "a", 3, 4, 5)
			has(t, s, "m", "b", 6, 7)
		})
	}
}

// filled creates a file of three vectors and returns its bytes.
func filled(t testing.TB, path string) []byte {
	t.Helper()
	s := vector.NewStore(path)
	put(t, s, "m", "a", 1, 2)
	put(t, s, "m", "b", 3, 4)
	put(t, s, "m", "c", 5, 6)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var filledWith = map[string][]float32{"a": {1, 2}, "b": {3, 4}, "c": {5, 6}}

// TestStoreNeverGivesAWrongVector flips every bit of a file, and cuts it everywhere. The store
// returns the vectors that were put, or none, and accepts more.
func TestStoreNeverGivesAWrongVector(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	whole := filled(t, filepath.Join(dir, "whole"))
	try := func(name string, damaged []byte) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s := vector.NewStore(path)
		got, err := s.Get("m", []string{"a", "b", "c"}, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, text := range []string{"a", "b", "c"} {
			if got[i] != nil && !slices.Equal(got[i], filledWith[text]) {
				t.Fatalf("%s: %s is %v", name, text, got[i])
			}
		}
		put(t, s, "m", "d", 7, 8)
		_ = s.Close()
		s = vector.NewStore(path)
		has(t, s, "m", "d", 7, 8)
		_ = s.Close()
		_ = os.Remove(path)
	}
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		try(fmt.Sprint("bit", bit), b)
	}
	for n := range whole {
		try(fmt.Sprint("cut", n), whole[:n])
	}
	try("zeros", append(bytes.Clone(whole), make([]byte, 5000)...))
	try("foreign", []byte("something else altogether, of somebody else\n"))
}

func TestStoreCutsOffWhatIsTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	whole := filled(t, path)
	if err := os.WriteFile(path, whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	s := store(t, path)
	has(t, s, "m", "a", 1, 2)
	has(t, s, "m", "b", 3, 4)
	has(t, s, "m", "c")
	if _, err := os.Stat(path + ".aside"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was set aside: %v", err)
	}
	put(t, s, "m", "c", 5, 6)
	if b, _ := os.ReadFile(path); !bytes.Equal(b, whole) {
		t.Error("what was put again does not follow what is whole")
	}
}

func TestStoreSetsAsideWhatIsNotItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	whole := filled(t, path)
	damaged := bytes.Clone(whole)
	damaged[80] ^= 4 // a number of the first vector
	for i, foreign := range [][]byte{[]byte("notes of somebody\n"), damaged} {
		if err := os.WriteFile(path, foreign, 0o600); err != nil {
			t.Fatal(err)
		}
		s := vector.NewStore(path)
		var told []string
		s.OnAside = func(name string) { told = append(told, name) }
		has(t, s, "m", "a")
		put(t, s, "m", "a", 1, 2)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		aside := path + ".aside"
		if i > 0 {
			aside += fmt.Sprint(i)
		}
		if !slices.Equal(told, []string{aside}) {
			t.Errorf("told of %q, want %q", told, aside)
		}
		if b, err := os.ReadFile(aside); err != nil || !bytes.Equal(b, foreign) {
			t.Errorf("%s: %q, %v", aside, b, err)
		}
		has(t, store(t, path), "m", "a", 1, 2)
	}
}

// TestStoreLooksAtTheChecksumEachTime changes the file under an open store.
func TestStoreLooksAtTheChecksumEachTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	whole := filled(t, path)
	s := store(t, path)
	has(t, s, "m", "a", 1, 2)
	damaged := bytes.Clone(whole)
	damaged[17+36+3] ^= 1 // the first number of the first vector
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(damaged, 0); err != nil {
		t.Fatal(err)
	}
	has(t, s, "m", "a")
	has(t, s, "m", "b", 3, 4)
	put(t, s, "m", "a", 1, 2)
	has(t, s, "m", "a", 1, 2)
}

func TestStoreWithoutAPlaceSaysSo(t *testing.T) {
	for name, path := range map[string]string{"a directory": t.TempDir(),
		"below nothing": filepath.Join(t.TempDir(), "no", "vectors")} {
		s := store(t, path)
		got, err := s.Get("m", []string{"a"}, 0)
		if err == nil || len(got) != 1 || got[0] != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := s.Put("m", []string{"a"}, [][]float32{{1}}); err == nil {
			t.Errorf("%s: kept", name)
		}
	}
}

func TestStoreForgetsWhatItHasNoRoomFor(t *testing.T) {
	for _, kind := range []string{"file", "memory"} {
		path := ""
		if kind == "file" {
			path = filepath.Join(t.TempDir(), "vectors")
		}
		s := store(t, path)
		vector.SetMax(s, 200)
		for i := range 50 {
			put(t, s, "m", fmt.Sprint(i), float32(i), 1)
			has(t, s, "m", fmt.Sprint(i), float32(i), 1)
		}
		has(t, s, "m", "0")
		if info, err := os.Stat(path); kind == "file" && (err != nil || info.Size() > 200) {
			t.Errorf("%v, %v", info.Size(), err)
		}
	}
}

func TestStoreIsForMany(t *testing.T) {
	s := store(t, filepath.Join(t.TempDir(), "vectors"))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				put(t, s, "m", fmt.Sprint(i), float32(i), float32(i+1))
				has(t, s, "m", fmt.Sprint(i), float32(i), float32(i+1))
				has(t, s, "m", fmt.Sprint("none", g, i))
			}
		})
	}
	wg.Wait()
}
