package bolt_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// edit changes log.db's bytes.
func edit(t testing.TB, dir string, change func(b []byte)) {
	t.Helper()
	path := filepath.Join(dir, "log.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

const pageSize = 16 << 10

// pages calls fn with each page that is in the tree of records.
func pages(b []byte, flags uint16, fn func(id uint64, page []byte)) {
	for id := uint64(2); int(id+1)*pageSize <= len(b); id++ {
		page := b[id*pageSize : (id+1)*pageSize]
		if binary.NativeEndian.Uint64(page) == id && binary.NativeEndian.Uint16(page[8:]) == flags {
			fn(id, page)
		}
	}
}

// leaf returns the first or the last leaf of the tree of records.
func leaf(b []byte, last bool) (leaf []byte) {
	pages(b, 1, func(_ uint64, page []byte) {
		at := 16
		if last {
			at = 16 * int(binary.NativeEndian.Uint16(page[10:]))
		}
		id := binary.NativeEndian.Uint64(page[at+8:])
		if p := b[id*pageSize : (id+1)*pageSize]; leaf == nil || !last || bytes.Compare(lastKey(p), lastKey(leaf)) > 0 {
			leaf = p
		}
	})
	return leaf
}

func lastKey(page []byte) []byte {
	at := 16 * int(binary.NativeEndian.Uint16(page[10:]))
	at += int(binary.NativeEndian.Uint32(page[at+4:]))
	return page[at : at+8]
}
