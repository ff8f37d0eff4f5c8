package bolt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen: a journal whose log.db was tampered with is refused with the damage named, or holds what it held.
func FuzzOpen(f *testing.F) {
	dir := sample(f, 6)
	whole, err := os.ReadFile(filepath.Join(dir, "log.db"))
	if err != nil {
		f.Fatal(err)
	}
	want, _ := mustOutcome(f, copyDir(f, dir))
	page := os.Getpagesize()
	for number := range min(len(whole)/page, 8) { // each is opened, so there are few
		at := []int{0, 8, 10, 12, 16, 24, 40, 72}[number] // the id of a page, its kind, its count, its overflow, its first elements, and what is behind them
		f.Add(uint32(number*page+at), []byte{0xff, 1}, uint32(0))
	}
	f.Add(uint32(0), make([]byte, page), uint32(0))
	f.Add(uint32(2*page), whole[3*page:4*page], uint32(0))
	f.Add(uint32(0), []byte{}, uint32(page+1))
	work := f.TempDir()
	f.Fuzz(func(t *testing.T, at uint32, with []byte, cut uint32) {
		b := append([]byte(nil), whole...)
		copy(b[int(at)%len(b):], with)
		b = b[:len(b)-int(cut)%len(b)]
		dirty := filepath.Join(work, fmt.Sprint(os.Getpid()))
		if err := os.CopyFS(dirty, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dirty)
		if err := os.WriteFile(filepath.Join(dirty, "log.db"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		checkDamage(t, dirty, want, fmt.Sprintf("% x at %d, %d bytes cut off", with[:min(len(with), 64)], int(at)%len(whole), int(cut)%len(whole)))
	})
}
