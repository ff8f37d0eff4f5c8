package bolt

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parleyhub/parley/hub/journal"
)

// bbolt trusts every page but its meta pages. A damaged one can send it round in circles, which no recover stops, or make it write
// over pages in use. So before bbolt opens a file, checkPages walks it: the meta pages, every tree down to its last branch, the leaf
// that the next commit extends, and the free list against what is in use. With deep it reads all leaves as well.
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

type pageFile struct {
	f        io.ReaderAt
	name     string
	pageSize int64
	high     uint64 // pages below are in the file
	deep     bool
	spans    []span
}

// span is a page in use and those that belong to it; n 0: not read, so n is not known.
type span struct{ id, n uint64 }

type meta struct {
	pageSize             uint32
	root                 uint64
	freelist, high, txid uint64
}

type element struct {
	flags      uint32
	child      uint64
	key, value []byte
}

// checkPages gives a *journal.DamageError if the bbolt file is not fit to be opened.
func checkPages(path string, deep bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p := &pageFile{f: f, name: filepath.Base(path), deep: deep}
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
	if err := p.tree(m.root, p.bucket); err != nil {
		return err
	}
	return p.freelist(m.freelist)
}

func (p *pageFile) damage(format string, args ...any) error {
	return &journal.DamageError{File: p.name, What: fmt.Sprintf(format, args...)}
}

// metas gives the newer meta page. Each fits one sector, so no crash tears it: if one is bad, the last commit may be lost,
// and it is not for us to go on without.
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

// bucket checks the tree of a bucket that stands in the root tree.
func (p *pageFile) bucket(e element) error {
	if e.flags&leafIsBucket == 0 || len(e.value) < bucketSize {
		return p.damage("bucket %q: header", e.key)
	}
	if root := binary.NativeEndian.Uint64(e.value); root != 0 {
		return p.tree(root, nil)
	}
	page := e.value[bucketSize:]
	if len(page) < pageHeader || binary.NativeEndian.Uint16(page[8:]) != pageLeaf {
		return p.damage("bucket %q: page in its header", e.key)
	}
	_, err := p.elements(page)
	return err
}

// tree walks a tree and calls leaf, if given, with each element of the leaves that are read.
func (p *pageFile) tree(root uint64, leaf func(element) error) error {
	height := 0
	for id := root; ; height++ {
		page, err := p.read(id)
		if err != nil {
			return err
		}
		if binary.NativeEndian.Uint16(page[8:]) == pageLeaf {
			break
		}
		children, err := p.elements(page)
		if err != nil {
			return err
		}
		if len(children) == 0 || height == maxTreeHeight {
			return p.damage("page %d: tree", id)
		}
		id = children[len(children)-1].child
	}
	return p.walk(root, height, true, leaf)
}

func (p *pageFile) walk(id uint64, height int, last bool, leaf func(element) error) error {
	if uint64(len(p.spans)) > p.high {
		return p.damage("page %d: more pages in use than there are", id)
	}
	if height == 0 && !last && !p.deep {
		p.spans = append(p.spans, span{id: id})
		return p.inFile(id, 1)
	}
	page, err := p.read(id)
	if err != nil {
		return err
	}
	p.spans = append(p.spans, span{id, uint64(len(page)) / uint64(p.pageSize)})
	if isLeaf := binary.NativeEndian.Uint16(page[8:]) == pageLeaf; isLeaf != (height == 0) {
		return p.damage("page %d: leaf or branch", id)
	}
	elements, err := p.elements(page)
	if err != nil {
		return err
	}
	for i, e := range elements {
		if height > 0 {
			err = p.walk(e.child, height-1, last && i == len(elements)-1, leaf)
		} else if leaf != nil {
			err = leaf(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pageFile) inFile(id, n uint64) error {
	if id < 2 || id >= p.high || n > p.high-id {
		return p.damage("page %d (%d long) of %d", id, n, p.high)
	}
	return nil
}

// read gives a page of a tree or the free list, with those that belong to it.
func (p *pageFile) read(id uint64) ([]byte, error) {
	n, err := p.length(id)
	if err != nil {
		return nil, err
	}
	page := make([]byte, int64(n)*p.pageSize)
	if _, err := p.f.ReadAt(page, int64(id)*p.pageSize); err != nil {
		return nil, err
	}
	if f := binary.NativeEndian.Uint16(page[8:]); f != pageBranch && f != pageLeaf && f != pageFreelist {
		return nil, p.damage("page %d: flags %#x", id, f)
	}
	return page, nil
}

// length reads a page's header and gives how many pages belong to it, with itself.
func (p *pageFile) length(id uint64) (uint64, error) {
	if err := p.inFile(id, 1); err != nil {
		return 0, err
	}
	var header [pageHeader]byte
	if _, err := p.f.ReadAt(header[:], int64(id)*p.pageSize); err != nil {
		return 0, err
	}
	if got := binary.NativeEndian.Uint64(header[:]); got != id {
		return 0, p.damage("page %d: says that it is %d", id, got)
	}
	n := uint64(binary.NativeEndian.Uint32(header[12:])) + 1
	if n*uint64(p.pageSize) > maxNodeBytes {
		return 0, p.damage("page %d: %d long", id, n)
	}
	return n, p.inFile(id, n)
}

// elements gives the elements of a branch or leaf, whose keys must rise.
func (p *pageFile) elements(page []byte) ([]element, error) {
	ne := binary.NativeEndian
	id, leaf, count := ne.Uint64(page), ne.Uint16(page[8:]) == pageLeaf, int(ne.Uint16(page[10:]))
	if pageHeader+count*elementSize > len(page) || ne.Uint16(page[8:]) == pageFreelist {
		return nil, p.damage("page %d: %d elements", id, count)
	}
	elements := make([]element, count)
	for i := range elements {
		at := pageHeader + i*elementSize
		b := page[at : at+elementSize]
		e := element{child: ne.Uint64(b[8:])}
		pos, ksize, vsize := uint64(ne.Uint32(b)), uint64(ne.Uint32(b[4:])), uint64(0)
		if leaf {
			e = element{flags: ne.Uint32(b)}
			pos, ksize, vsize = uint64(ne.Uint32(b[4:])), uint64(ne.Uint32(b[8:])), uint64(ne.Uint32(b[12:]))
		}
		from := uint64(at) + pos
		if ksize == 0 || pos < elementSize || from+ksize+vsize > uint64(len(page)) {
			return nil, p.damage("page %d: element %d", id, i)
		}
		e.key, e.value = page[from:from+ksize], page[from+ksize:from+ksize+vsize]
		if i > 0 && bytes.Compare(elements[i-1].key, e.key) >= 0 {
			return nil, p.damage("page %d: order of keys", id)
		}
		elements[i] = e
	}
	return elements, nil
}

// freelist checks that no page is used twice or both used and free.
func (p *pageFile) freelist(id uint64) error {
	var free []uint64
	if id != noFreelist {
		page, err := p.read(id)
		if err != nil {
			return err
		}
		if free, err = p.freeIDs(id, page); err != nil {
			return err
		}
		p.spans = append(p.spans, span{id, uint64(len(page)) / uint64(p.pageSize)})
	}
	slices.SortFunc(p.spans, func(a, b span) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(p.spans); i++ {
		if a, b := p.spans[i-1], p.spans[i]; a.id == b.id || a.id+a.n > b.id {
			return p.damage("page %d: used twice", b.id)
		}
	}
	for _, f := range free {
		i, exact := slices.BinarySearchFunc(p.spans, f, func(s span, f uint64) int { return cmp.Compare(s.id, f) })
		if exact {
			return p.damage("page %d: used and free", f)
		}
		if i == 0 {
			continue
		}
		s := &p.spans[i-1]
		if s.n == 0 {
			var err error
			if s.n, err = p.length(s.id); err != nil {
				return err
			}
		}
		if s.id+s.n > f {
			return p.damage("page %d: used and free", f)
		}
	}
	return nil
}

func (p *pageFile) freeIDs(id uint64, page []byte) ([]uint64, error) {
	ne := binary.NativeEndian
	if ne.Uint16(page[8:]) != pageFreelist {
		return nil, p.damage("page %d: not a free list", id)
	}
	count, rest := uint64(ne.Uint16(page[10:])), page[pageHeader:]
	if count == 0xFFFF {
		count, rest = ne.Uint64(rest), rest[8:]
	}
	if count > uint64(len(rest)/8) {
		return nil, p.damage("page %d: %d free pages", id, count)
	}
	free := make([]uint64, count)
	for i := range free {
		free[i] = ne.Uint64(rest[8*i:])
		if free[i] < 2 || free[i] >= p.high || i > 0 && free[i] <= free[i-1] {
			return nil, p.damage("page %d: free page %d", id, free[i])
		}
	}
	return free, nil
}
