package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"

	"github.com/parleyhub/parley/hub/journal"
)

// bbolt trusts every page but its meta pages. A damaged one can send it round in circles, which no recover stops, or make it write
// over pages in use. So before bbolt opens a file, checkPages walks it: the meta pages, every tree down to its last branch, the leaf
// that the next commit extends, and the free list against what is in use. If it is asked for entries it reads all leaves as well.
//
// A key stands in a branch as the first key of the page below. Where it does not, bbolt does not find what is there, and a commit leaves a
// page in the tree that is free: checkPages compares them wherever it reads both.
//
// The layout, in the machine's byte order: a page begins with id u64, flags u16, count u16, overflow u32 (further pages that belong
// to it); then count elements: branch {pos u32, ksize u32, child u64}, leaf {flags u32, pos u32, ksize u32, vsize u32}, pos counting
// from the element.
const (
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	pageHeader  = 16
	elementSize = 16
	metaSize    = 64
	metaSummed  = 56
	bucketSize  = 16

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	noFreelist  = 1<<64 - 1

	leafIsBucket  = 1
	maxTreeHeight = 16
	maxNodeBytes  = 1 << 30
)

// entries returns what is called with each key and value of a bucket, which it does not keep; nil: the values are not read.
type entries func(bucket []byte) func(key, value []byte) error

type pageFile struct {
	f        io.ReaderAt
	name     string
	pageSize int64
	high     uint64 // pages below are in the file
	deep     bool   // all leaves are read
	entries  entries

	used    bitmap   // pages in use
	unread  bitmap   // those of them that are leaves which were not read: how many belong to each is not known
	depth   int      // of the page that is being walked, from the root of all
	buffers [][]byte // of the pages down to there
}

type meta struct {
	pageSize             uint32
	root                 uint64
	freelist, high, txid uint64
}

// checkPages returns a *journal.DamageError if the bbolt file is not fit to be opened. With entries, it reads what they ask for.
func checkPages(path string, of entries) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p := &pageFile{f: f, name: filepath.Base(path), deep: of != nil, entries: of}
	m, err := p.metas()
	if err != nil {
		return err
	}
	p.pageSize, p.high = int64(m.pageSize), m.high
	if pages := info.Size() / p.pageSize; m.high > uint64(pages) {
		return p.damage("truncated: %d of %d pages", pages, m.high)
	}
	if m.freelist == noFreelist {
		p.deep = true // bbolt will walk everything to make one
	}
	p.used, p.unread = newBitmap(m.high), newBitmap(m.high)
	if err := p.tree(m.root, &tree{isRoot: true, each: p.bucket}); err != nil {
		return err
	}
	return p.freelist(m.freelist)
}

func (p *pageFile) damage(format string, args ...any) error {
	return &journal.DamageError{File: p.name, What: fmt.Sprintf(format, args...)}
}

// metas returns the newer meta page. Each fits one sector, so no crash tears it: if one is bad, the last commit may be lost,
// and it is not for us to continue without.
func (p *pageFile) metas() (meta, error) {
	var m [2]meta
	var at int64
	for i := range m {
		b := make([]byte, pageHeader+metaSize)
		if _, err := p.f.ReadAt(b, at); err != nil && err != io.EOF {
			return meta{}, err
		}
		b = b[pageHeader:]
		sum := fnv.New64a()
		sum.Write(b[:metaSummed])
		ne := binary.NativeEndian
		if ne.Uint32(b) != metaMagic || ne.Uint32(b[4:]) != metaVersion || ne.Uint64(b[metaSummed:]) != sum.Sum64() {
			return meta{}, p.damage("meta page %d", i)
		}
		m[i] = meta{ne.Uint32(b[8:]), ne.Uint64(b[16:]), ne.Uint64(b[32:]), ne.Uint64(b[40:]), ne.Uint64(b[48:])}
		if s := m[i].pageSize; s < 1<<10 || s > 1<<24 || s&(s-1) != 0 || s != m[0].pageSize {
			return meta{}, p.damage("meta page %d: page size %d", i, s)
		}
		at = int64(m[i].pageSize)
	}
	if m[1].txid > m[0].txid {
		return m[1], nil
	}
	return m[0], nil
}

func (p *pageFile) inFile(id, n uint64) error {
	if id < 2 || id >= p.high || n > p.high-id {
		return p.damage("page %d (%d long) of %d", id, n, p.high)
	}
	return nil
}

// use notes that a page and those that belong to it, which are in the file, are in use.
func (p *pageFile) use(id, n uint64) error {
	for at := id; at < id+n; at++ {
		if p.used.has(at) {
			return p.damage("page %d: used twice", at)
		}
		p.used.set(at)
	}
	return nil
}

// freelist checks that no page is used twice or both used and free.
func (p *pageFile) freelist(id uint64) error {
	if id == noFreelist {
		return nil
	}
	page, err := p.read(id, true)
	if err != nil {
		return err
	}
	if err := p.use(id, page.n); err != nil {
		return err
	}
	free, err := p.freeIDs(page)
	if err != nil {
		return err
	}
	var last uint64 // free page
	for _, f := range free {
		if p.used.has(f) {
			return p.damage("page %d: used and free", f)
		}
		if used, ok := p.used.last(last+1, f); ok {
			if err := p.ends(used, f); err != nil {
				return err
			}
		}
		last = f
	}
	return nil
}

// ends checks that what begins in page id, if that is not known, ends before f.
func (p *pageFile) ends(id, f uint64) error {
	if !p.unread.has(id) {
		return nil
	}
	n, err := p.length(id)
	if err == nil && id+n > f {
		err = p.damage("page %d: used and free", f)
	}
	return err
}

func (p *pageFile) freeIDs(g page) ([]uint64, error) {
	ne := binary.NativeEndian
	if g.flags != pageFreelist {
		return nil, p.damage("page %d: not a free list", g.id)
	}
	count, rest := uint64(g.count), g.data[pageHeader:]
	if count == 0xFFFF {
		count, rest = ne.Uint64(rest), rest[8:]
	}
	if count > uint64(len(rest)/8) {
		return nil, p.damage("page %d: %d free pages", g.id, count)
	}
	free := make([]uint64, count)
	for i := range free {
		free[i] = ne.Uint64(rest[8*i:])
		if free[i] < 2 || free[i] >= p.high || i > 0 && free[i] <= free[i-1] {
			return nil, p.damage("page %d: free page %d", g.id, free[i])
		}
	}
	return free, nil
}
