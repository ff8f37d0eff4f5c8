package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

// index.db has these buckets. Every value ends in the CRC32C of key and value, and the checkpoint says how many entries each
// bucket of tables has, so that Open notices whatever is changed or missing.
//
//	heads      id                             -> seq, hash, final
//	positions  len(id) id chunk               -> positions of seqs chunk*128+1 ...: the first, then differences, as uvarints
//	open       id                             -> nothing: the conversations that are not final
//	listed     len(label) label position      -> id; under the empty label all conversations
//	labels     len(id) id label               -> nothing: what a conversation is listed under
//	states     id                             -> seq, state (not counted: they may be lost)
//	meta       "checkpoint"                   -> checkpoint
const (
	indexVersion = 1
	chunkSeqs    = 128
)

var (
	tableNames    = [...]string{"heads", "positions", "open", "listed", "labels"}
	statesBucket  = []byte("states")
	metaBucket    = []byte("meta")
	checkpointKey = []byte("checkpoint")
)

const (
	tableHeads = iota
	tablePositions
	tableOpen
	tableListed
	tableLabels
	tableCount
)

var errIndex = errors.New("index.db")

// checkpoint says how far index.db goes and to which log it belongs.
type checkpoint struct {
	log      [16]byte
	position journal.Position
	sum      uint32 // the checksum of the record there
	counts   [tableCount]uint64
}

func (c *checkpoint) encode() []byte {
	b := append([]byte{indexVersion}, c.log[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.position))
	b = binary.BigEndian.AppendUint32(b, c.sum)
	for _, n := range c.counts {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func decodeCheckpoint(b []byte) (c checkpoint, err error) {
	if len(b) == 0 || b[0] != indexVersion {
		return c, fmt.Errorf("%w: version", errIndex)
	}
	if len(b) != 29+8*tableCount {
		return c, fmt.Errorf("%w: checkpoint", errIndex)
	}
	c.log = [16]byte(b[1:17])
	c.position = journal.Position(binary.BigEndian.Uint64(b[17:]))
	c.sum = binary.BigEndian.Uint32(b[25:])
	for i := range c.counts {
		c.counts[i] = binary.BigEndian.Uint64(b[29+8*i:])
	}
	return c, nil
}

// seal appends the checksum to value, which is the caller's.
func seal(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(value, sum)
}

func unseal(key, sealed []byte) ([]byte, error) {
	n := len(sealed) - 4
	if n < 0 {
		return nil, &journal.DamageError{File: indexFile, What: "checksum"}
	}
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, sealed[:n])
	if binary.BigEndian.Uint32(sealed[n:]) != sum {
		return nil, &journal.DamageError{File: indexFile, What: "checksum"}
	}
	return sealed[:n:n], nil
}

// lookup returns the value of a key, nil if there is none.
func lookup(tx *bbolt.Tx, bucket, key []byte) ([]byte, error) {
	b := tx.Bucket(bucket)
	if b == nil {
		return nil, &journal.DamageError{File: indexFile, What: "bucket missing"}
	}
	sealed := b.Get(key)
	if sealed == nil {
		return nil, nil
	}
	return unseal(key, sealed)
}

// lookupTable is lookup in a table.
func lookupTable(tx *bbolt.Tx, table int, key []byte) ([]byte, error) {
	return lookup(tx, []byte(tableNames[table]), key)
}

func headValue(h journal.Head) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(h.Seq))
	b = append(b, h.Hash[:]...)
	if h.Final {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodeHead(b []byte) (journal.Head, error) {
	if len(b) != 41 {
		return journal.Head{}, &journal.DamageError{File: indexFile, What: "head"}
	}
	return journal.Head{Seq: int64(binary.BigEndian.Uint64(b)), Hash: journal.Hash(b[8:40]), Final: b[40] == 1}, nil
}

func chunkOf(seq int64) uint64 { return uint64(seq-1) / chunkSeqs }

func nameKey(name string, more int) []byte {
	return append(append(make([]byte, 0, 1+len(name)+more), byte(len(name))), name...)
}

func chunkKey(conversation string, chunk uint64) []byte {
	return binary.BigEndian.AppendUint64(nameKey(conversation, 8), chunk)
}

func listedKey(label string, p journal.Position) []byte {
	return binary.BigEndian.AppendUint64(nameKey(label, 8), uint64(p))
}

func labelKey(conversation, label string) []byte {
	return append(nameKey(conversation, len(label)), label...)
}

func chunkValue(positions []journal.Position) []byte {
	var b []byte
	var last journal.Position
	for _, p := range positions {
		b = binary.AppendUvarint(b, uint64(p-last))
		last = p
	}
	return b
}

func decodeChunk(b []byte) ([]journal.Position, error) {
	positions := make([]journal.Position, 0, chunkSeqs)
	var last journal.Position
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 || len(positions) == chunkSeqs {
			return nil, &journal.DamageError{File: indexFile, What: "positions"}
		}
		last += journal.Position(d)
		positions = append(positions, last)
		b = b[n:]
	}
	return positions, nil
}

// change is a put into a table, or a delete if the value is nil.
type change struct{ key, value []byte }

// changes are what an overlay does to each table. They are made in the order of their keys: bbolt splits a node only at the end of a
// transaction, and many puts into the middle of a large one take for ever.
type changes [tableCount][]change

func (c *changes) add(table int, key, value []byte) {
	c[table] = append(c[table], change{key, value})
}

// write makes the changes and counts them.
func (c *changes) write(tx *bbolt.Tx, counts *[tableCount]uint64) error {
	for table, list := range c {
		slices.SortFunc(list, func(a, b change) int { return bytes.Compare(a.key, b.key) })
		b := tx.Bucket([]byte(tableNames[table]))
		for _, ch := range list {
			there := b.Get(ch.key) != nil
			switch {
			case ch.value == nil && !there:
				continue
			case ch.value == nil:
				counts[table]--
				if err := b.Delete(ch.key); err != nil {
					return err
				}
				continue
			case !there:
				counts[table]++
			}
			if err := b.Put(ch.key, seal(ch.key, ch.value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyOverlay writes an overlay.
func applyOverlay(tx *bbolt.Tx, o *overlay, counts *[tableCount]uint64) error {
	var c changes
	for id, r := range o.conversations {
		if err := c.conversation(tx, id, r); err != nil {
			return err
		}
	}
	for label, rows := range o.labels {
		for _, row := range rows {
			c.add(tableListed, listedKey(label, row.Position), []byte(row.Conversation))
			if label != "" {
				c.add(tableLabels, labelKey(row.Conversation, label), []byte{})
			}
		}
	}
	if err := c.write(tx, counts); err != nil {
		return err
	}
	states := tx.Bucket(statesBucket)
	for _, id := range slices.Sorted(maps.Keys(o.states)) {
		s := o.states[id]
		value := make([]byte, 0, 8+len(s.data)+crc32.Size)
		value = append(binary.BigEndian.AppendUint64(value, uint64(s.seq)), s.data...)
		if err := states.Put([]byte(id), seal([]byte(id), value)); err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) conversation(tx *bbolt.Tx, id string, r *recent) error {
	key := []byte(id)
	c.add(tableHeads, key, headValue(r.head))
	open := []byte{}
	if r.head.Final {
		open = nil
	}
	c.add(tableOpen, key, open)
	for seq, rest := r.from, r.positions; len(rest) > 0; {
		key := chunkKey(id, chunkOf(seq))
		in := int(seq-1) % chunkSeqs
		var chunk []journal.Position
		if in > 0 {
			b, err := lookupTable(tx, tablePositions, key)
			if err == nil {
				chunk, err = decodeChunk(b)
			}
			if err != nil {
				return err
			}
			if len(chunk) < in {
				return &journal.DamageError{File: indexFile, Conversation: id, Seq: seq, What: "positions"}
			}
			chunk = chunk[:in]
		}
		n := min(len(rest), chunkSeqs-in)
		c.add(tablePositions, key, chunkValue(append(chunk, rest[:n]...)))
		seq, rest = seq+int64(n), rest[n:]
	}
	return nil
}

// indexFound is what readIndex has seen of index.db.
type indexFound struct {
	checkpoint *checkpoint
	counts     map[string]uint64 // entries of the buckets that are there
}

// readIndex reads index.db before it is opened, all but the values of the saved states, which are checked when they are asked for. It returns the
// checkpoint.
func readIndex(path string) (checkpoint, error) {
	found := &indexFound{counts: make(map[string]uint64)}
	if err := checkPages(path, found.bucket); err != nil {
		return checkpoint{}, err
	}
	if found.checkpoint == nil {
		return checkpoint{}, fmt.Errorf("%w: no checkpoint", errIndex)
	}
	for i, name := range tableNames {
		n, ok := found.counts[name]
		if !ok {
			return checkpoint{}, fmt.Errorf("%w: no bucket %s", errIndex, name)
		}
		if want := found.checkpoint.counts[i]; n != want {
			return checkpoint{}, fmt.Errorf("%w: %d %s, expected %d", errIndex, n, name, want)
		}
	}
	if _, ok := found.counts[string(statesBucket)]; !ok {
		return checkpoint{}, fmt.Errorf("%w: no bucket %s", errIndex, statesBucket)
	}
	return *found.checkpoint, nil
}

// bucket is entries for checkPages.
func (f *indexFound) bucket(bucket []byte) func(key, value []byte) error {
	name := string(bucket)
	f.counts[name] = 0
	if name == string(statesBucket) {
		return nil
	}
	n := uint64(0)
	return func(key, sealed []byte) error {
		value, err := unseal(key, sealed)
		if err != nil {
			return err
		}
		n++
		f.counts[name] = n
		if name != string(metaBucket) || !bytes.Equal(key, checkpointKey) {
			return nil
		}
		c, err := decodeCheckpoint(value)
		f.checkpoint = &c
		return err
	}
}

// initIndex makes the buckets of a new index.db.
func initIndex(db *bbolt.DB, log [16]byte) error {
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range tableNames {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		if _, err := tx.CreateBucket(statesBucket); err != nil {
			return err
		}
		m, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		c := checkpoint{log: log}
		return m.Put(checkpointKey, seal(checkpointKey, c.encode()))
	})
}
