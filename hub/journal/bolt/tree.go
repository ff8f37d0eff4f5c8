package bolt

import (
	"bytes"
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// page is a page of a tree or the free list, with those that belong to it.
type page struct {
	id    uint64
	n     uint64 // how many pages it is
	flags uint16
	count int    // of its elements
	data  []byte // its bytes; of a leaf whose values are not read only the first
	size  uint64 // of all its bytes
}

// element of a branch or leaf. Its slices are of the page.
type element struct {
	flags      uint32
	child      uint64
	key, value []byte
}

// tree is what is to be done with the leaves of a tree.
type tree struct {
	isRoot bool // its entries are the buckets
	each   func(element) error
}

// spot is where a page stands in its tree.
type spot struct {
	height int
	last   bool   // no page of its height is behind it
	from   []byte // its first key; nil: any
	to     []byte // all its keys are below; nil: any
}

// bucket checks the tree of a bucket that stands in the root tree.
func (p *pageFile) bucket(e element) error {
	if e.flags != leafIsBucket || len(e.value) < bucketSize {
		return p.damage("bucket %q: header", e.key)
	}
	t := &tree{}
	if p.entries != nil {
		if each := p.entries(e.key); each != nil {
			t.each = func(e element) error { return each(e.key, e.value) }
		}
	}
	if root := binary.NativeEndian.Uint64(e.value); root != 0 {
		return p.tree(root, t)
	}
	data := e.value[bucketSize:]
	if len(data) < pageHeader {
		return p.damage("bucket %q: page in its header", e.key)
	}
	g := pageOf(data)
	g.size = uint64(len(data))
	elsewhere := g.id != 0 || binary.NativeEndian.Uint32(data[12:]) != 0 // bbolt would free that page when the bucket grows
	if g.flags != pageLeaf || elsewhere {
		return p.damage("bucket %q: page in its header", e.key)
	}
	if err := p.check(&g, t, spot{}); err != nil {
		return err
	}
	return p.entriesOf(&g, t)
}

// tree walks a tree.
func (p *pageFile) tree(root uint64, t *tree) error {
	p.depth++
	defer func() { p.depth-- }()
	height := 0
	for id := root; ; height++ {
		g, err := p.read(id, false)
		if err != nil {
			return err
		}
		if g.flags == pageLeaf {
			break
		}
		if g.flags != pageBranch || g.count == 0 || height == maxTreeHeight {
			return p.damage("page %d: tree", id)
		}
		e, err := p.element(&g, g.count-1)
		if err != nil {
			return err
		}
		id = e.child
	}
	return p.walk(root, t, spot{height: height, last: true})
}

func (p *pageFile) walk(id uint64, t *tree, at spot) error {
	p.depth++
	defer func() { p.depth-- }()
	g, err := p.read(id, t.each != nil)
	if err != nil {
		return err
	}
	if err := p.use(id, g.n); err != nil {
		return err
	}
	if g.flags != pageLeaf && at.height == 0 || g.flags != pageBranch && at.height > 0 {
		return p.damage("page %d: leaf or branch", id)
	}
	if err := p.check(&g, t, at); err != nil {
		return err
	}
	switch {
	case at.height == 0:
		return p.entriesOf(&g, t)
	case at.height == 1 && !p.deep && !t.isRoot:
		return p.skipLeaves(&g, t, at)
	}
	for i := range g.count {
		if err := p.walkChild(&g, i, t, at); err != nil {
			return err
		}
	}
	return nil
}

// walkChild walks what is below element i of a branch that was checked.
func (p *pageFile) walkChild(g *page, i int, t *tree, at spot) error {
	e, err := p.element(g, i)
	if err != nil {
		return err
	}
	below := spot{height: at.height - 1, last: at.last && i == g.count-1, from: e.key, to: at.to}
	if i+1 < g.count {
		next, err := p.element(g, i+1)
		if err != nil {
			return err
		}
		below.to = next.key
	}
	return p.walk(e.child, t, below)
}

// skipLeaves notes the leaves below a branch that was checked, and reads only the last of the tree.
func (p *pageFile) skipLeaves(g *page, t *tree, at spot) error {
	n := g.count
	if at.last {
		n--
	}
	for i := range n {
		id := g.child(i)
		if err := p.inFile(id, 1); err != nil {
			return err
		}
		if err := p.use(id, 1); err != nil {
			return err
		}
		p.unread.set(id)
	}
	if !at.last {
		return nil
	}
	return p.walkChild(g, n, t, at)
}

// entriesOf calls each with the entries of a leaf that was checked.
func (p *pageFile) entriesOf(g *page, t *tree) error {
	if t.each == nil {
		return nil
	}
	for i := range g.count {
		e, err := p.element(g, i)
		if err == nil {
			err = t.each(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check checks the elements of a page of a tree: that they are within it, and that their keys rise between those around it.
func (p *pageFile) check(g *page, t *tree, at spot) error {
	if g.count == 0 && at.from != nil {
		return p.damage("page %d: empty", g.id)
	}
	var last []byte
	for i := range g.count {
		e, err := p.element(g, i)
		switch {
		case err != nil:
			return err
		case i == 0 && at.from != nil && !bytes.Equal(e.key, at.from):
			return p.damage("page %d: first key", g.id)
		case i > 0 && bytes.Compare(last, e.key) >= 0:
			return p.damage("page %d: order of keys", g.id)
		case e.flags != 0 && !t.isRoot:
			return p.damage("page %d: element %d: flags", g.id, i)
		}
		last = e.key
	}
	if at.to != nil && bytes.Compare(last, at.to) >= 0 {
		return p.damage("page %d: last key", g.id)
	}
	return nil
}

// element returns an element of a branch or leaf. It has no value if those are not read.
func (p *pageFile) element(g *page, i int) (e element, err error) {
	ne := binary.NativeEndian
	at := uint64(pageHeader + i*elementSize)
	if at+elementSize > uint64(len(g.data)) {
		return e, p.damage("page %d: %d elements", g.id, g.count)
	}
	b := g.data[at : at+elementSize]
	var pos, ksize, vsize uint64
	if g.flags == pageLeaf {
		e.flags = ne.Uint32(b)
		pos, ksize, vsize = uint64(ne.Uint32(b[4:])), uint64(ne.Uint32(b[8:])), uint64(ne.Uint32(b[12:]))
	} else {
		e.child = ne.Uint64(b[8:])
		pos, ksize = uint64(ne.Uint32(b)), uint64(ne.Uint32(b[4:]))
	}
	from := at + pos
	if ksize == 0 || ksize > bbolt.MaxKeySize || pos < elementSize || from+ksize+vsize > g.size {
		return e, p.damage("page %d: element %d", g.id, i)
	}
	if from+ksize+vsize <= uint64(len(g.data)) {
		e.key, e.value = g.data[from:from+ksize], g.data[from+ksize:from+ksize+vsize]
		return e, nil
	}
	if from+ksize <= uint64(len(g.data)) {
		e.key = g.data[from : from+ksize]
		return e, nil
	}
	e.key = make([]byte, ksize)
	_, err = p.f.ReadAt(e.key, int64(g.id)*p.pageSize+int64(from))
	return e, err
}

// child returns the page below element i of a branch that was checked.
func (g *page) child(i int) uint64 {
	return binary.NativeEndian.Uint64(g.data[pageHeader+i*elementSize+8:])
}

// read returns a page, in the buffer of its depth. Of a leaf, whole says whether all of it is read.
func (p *pageFile) read(id uint64, whole bool) (page, error) {
	if err := p.inFile(id, 1); err != nil {
		return page{}, err
	}
	data := p.buffer(p.pageSize)
	if _, err := p.f.ReadAt(data, int64(id)*p.pageSize); err != nil {
		return page{}, err
	}
	n, err := p.lengthOf(id, data)
	if err != nil {
		return page{}, err
	}
	g := pageOf(data)
	g.n, g.size = n, n*uint64(p.pageSize)
	if f := g.flags; f != pageBranch && f != pageLeaf && f != pageFreelist {
		return page{}, p.damage("page %d: flags %#x", id, f)
	}
	if n > 1 && (whole || g.flags != pageLeaf || pageHeader+g.count*elementSize > len(data)) {
		g.data = p.buffer(int64(g.size))
		_, err = p.f.ReadAt(g.data, int64(id)*p.pageSize)
	}
	return g, err
}

// pageOf reads the header of a page.
func pageOf(data []byte) page {
	ne := binary.NativeEndian
	return page{id: ne.Uint64(data), flags: ne.Uint16(data[8:]), count: int(ne.Uint16(data[10:])), data: data}
}

// buffer returns n bytes that are as they are until the next page of the same depth.
func (p *pageFile) buffer(n int64) []byte {
	for len(p.buffers) <= p.depth {
		p.buffers = append(p.buffers, nil)
	}
	if b := &p.buffers[p.depth]; int64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	return p.buffers[p.depth][:n]
}

// length reads a page's header and returns how many pages belong to it, with itself.
func (p *pageFile) length(id uint64) (uint64, error) {
	var header [pageHeader]byte
	if _, err := p.f.ReadAt(header[:], int64(id)*p.pageSize); err != nil {
		return 0, err
	}
	return p.lengthOf(id, header[:])
}

// lengthOf is length of a page whose header was read.
func (p *pageFile) lengthOf(id uint64, header []byte) (uint64, error) {
	if got := binary.NativeEndian.Uint64(header); got != id {
		return 0, p.damage("page %d: says that it is %d", id, got)
	}
	n := uint64(binary.NativeEndian.Uint32(header[12:])) + 1
	if n*uint64(p.pageSize) > maxNodeBytes {
		return 0, p.damage("page %d: %d long", id, n)
	}
	return n, p.inFile(id, n)
}
