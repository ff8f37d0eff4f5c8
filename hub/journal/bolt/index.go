package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"go.etcd.io/bbolt"
)

const (
	cachedHeads = 65_536
	// maxStateBytes bounds the saved states that wait for index.db and are not being written; there is no room for more. One that is larger than half of it takes half of
	// it: so two are taken whatever their size, and what belongs to a large one can follow it.
	maxStateBytes = 32 << 20
	// lagFactor times CheckpointRecords is how many records index.db may be behind before commits wait for it.
	lagFactor = 2
)

// index knows where the records of each conversation are: index.db up to its checkpoint and overlays after it. Things move from the
// overlays to index.db only, so a reader looks at the overlays first, and finds a thing twice rather than never.
type index struct {
	every int // records between checkpoints
	kick  chan struct{}
	db    *bbolt.DB

	flushMu sync.Mutex // held by the one flush that is under way; guards the two fields below
	written checkpoint // in index.db
	stuck   error      // index.db can be neither written nor closed

	mu      sync.Mutex // guards the fields below
	flushed *sync.Cond // an attempt to flush has ended
	now     *overlay
	old     *overlay // being flushed, or nil
	oldEnd  tail
	end     tail // of what is published
	heads   *headCache
	flushes uint64
	tried   uint64
	err     error // of the last attempt
	closed  bool
}

// tail is the last record of some.
type tail struct {
	position journal.Position
	sum      uint32
}

func newIndex(db *bbolt.DB, c checkpoint, every int) *index {
	x := &index{
		every: every, kick: make(chan struct{}, 1), db: db, written: c,
		now: newOverlay(), end: tail{c.position, c.sum}, heads: newHeadCache(cachedHeads),
	}
	x.flushed = sync.NewCond(&x.mu)
	return x
}

func (x *index) place() *journal.DamageError { return &journal.DamageError{File: indexFile} }

// overlaysLocked returns what index.db may not have, older first.
func (x *index) overlaysLocked() []*overlay {
	if x.old == nil {
		return []*overlay{x.now}
	}
	return []*overlay{x.old, x.now}
}

// publish takes records that are durable, and what listedBefore said of them. Only the committer does it.
func (x *index) publish(records []journal.Record, listed map[labelOf]bool, end tail) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range records {
		r := &records[i]
		x.now.add(r, func(label string) bool { return listed[labelOf{r.Conversation, label}] })
		x.heads.put(r.Conversation, journal.Head{Seq: r.Seq, Hash: r.Hash, Final: r.Final})
	}
	x.end = end
	if x.now.records >= x.every {
		x.wantFlush()
	}
}

type labelOf struct{ conversation, label string }

// listedBefore returns the labels of records that their conversations have already. Only the committer, who alone adds some, asks.
func (x *index) listedBefore(records []journal.Record) (map[labelOf]bool, error) {
	listed := make(map[labelOf]bool)
	for _, r := range records {
		if r.Seq == 1 {
			continue
		}
		for _, l := range r.Labels {
			had, err := x.has(r.Conversation, l)
			if err != nil {
				return nil, err
			}
			listed[labelOf{r.Conversation, l}] = had
		}
	}
	return listed, nil
}

func (x *index) has(conversation, label string) (bool, error) {
	x.mu.Lock()
	for _, o := range x.overlaysLocked() {
		if c := o.conversations[conversation]; c != nil && slices.Contains(c.labels, label) {
			x.mu.Unlock()
			return true, nil
		}
	}
	x.mu.Unlock()
	had := false
	err := view(x.db, x.place(), func(tx *bbolt.Tx) error {
		v, err := lookupTable(tx, tableLabels, labelKey(conversation, label))
		had = v != nil
		return err
	})
	return had, err
}

// head returns the head of a conversation, the zero Head if it has none.
func (x *index) head(conversation string) (journal.Head, error) {
	x.mu.Lock()
	h, ok := x.headLocked(conversation)
	flushes, closed := x.flushes, x.closed
	x.mu.Unlock()
	if closed {
		return journal.Head{}, journal.ErrClosed
	}
	if ok {
		return h, nil
	}
	err := view(x.db, x.place(), func(tx *bbolt.Tx) error {
		b, err := lookupTable(tx, tableHeads, []byte(conversation))
		if err != nil || b == nil {
			return err
		}
		h, err = decodeHead(b)
		return err
	})
	if err != nil || h.Seq == 0 {
		return journal.Head{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.headLocked(conversation); !ok && x.flushes == flushes {
		x.heads.put(conversation, h) // nothing can have moved it since
	}
	return h, nil
}

func (x *index) headLocked(conversation string) (journal.Head, bool) {
	overlays := x.overlaysLocked()
	for _, o := range slices.Backward(overlays) {
		if c := o.conversations[conversation]; c != nil {
			return c.head, true
		}
	}
	return x.heads.get(conversation)
}

// positions returns where the records of a conversation from a seq on are, at most n.
func (x *index) positions(conversation string, from int64, n int) ([]journal.Position, error) {
	x.mu.Lock()
	closed := x.closed
	var recents []journal.Position // from seq first on
	var first int64
	for _, o := range x.overlaysLocked() {
		c := o.conversations[conversation]
		if c == nil {
			continue
		}
		if first == 0 {
			first = c.from
		}
		skip := min(max(from-c.from, 0), int64(len(c.positions)))
		recents = append(recents, c.positions[skip:min(skip+int64(n), int64(len(c.positions)))]...)
	}
	x.mu.Unlock()
	if closed {
		return nil, journal.ErrClosed
	}
	if first != 0 && from >= first {
		return recents[:min(n, len(recents))], nil
	}
	want := n
	if first != 0 {
		want = int(min(int64(n), first-from))
	}
	older, err := x.stored(conversation, from, want)
	if err != nil || first == 0 || want == n {
		return older, err
	}
	if len(older) < want {
		return nil, &journal.DamageError{File: indexFile, Conversation: conversation, Seq: from + int64(len(older)), What: "position missing"}
	}
	older = append(older, recents...)
	return older[:min(n, len(older))], nil
}

// stored returns positions from index.db.
func (x *index) stored(conversation string, from int64, n int) ([]journal.Position, error) {
	var positions []journal.Position
	err := view(x.db, x.place(), func(tx *bbolt.Tx) error {
		for seq := from; len(positions) < n; {
			b, err := lookupTable(tx, tablePositions, chunkKey(conversation, chunkOf(seq)))
			if err != nil || b == nil {
				return err
			}
			chunk, err := decodeChunk(b)
			if err != nil {
				return err
			}
			in := int(seq-1) % chunkSeqs
			if in >= len(chunk) {
				return nil
			}
			chunk = chunk[in:]
			positions = append(positions, chunk[:min(len(chunk), n-len(positions))]...)
			if seq += int64(len(chunk)); chunkOf(seq) == chunkOf(seq-1) {
				return nil // the chunk is not full: it is the last
			}
		}
		return nil
	})
	return positions, err
}

// open returns the conversations that are not final, by id.
func (x *index) open(after string, limit int) ([]string, error) {
	x.mu.Lock()
	closed := x.closed
	known := make(map[string]bool) // id to whether it is open
	for _, o := range x.overlaysLocked() {
		for id, c := range o.conversations {
			known[id] = !c.head.Final
		}
	}
	x.mu.Unlock()
	if closed {
		return nil, journal.ErrClosed
	}
	var ids []string
	for id, open := range known {
		if open && id > after {
			ids = append(ids, id)
		}
	}
	n := 0
	err := view(x.db, x.place(), func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(tableNames[tableOpen])).Cursor()
		for k, v := c.Seek([]byte(after)); k != nil && n < limit; k, v = c.Next() {
			if _, err := unseal(k, v); err != nil {
				return err
			}
			id := string(k)
			if _, ok := known[id]; !ok && id > after {
				ids = append(ids, id)
				n++
			}
		}
		return nil
	})
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], err
}

func (x *index) saveState(conversation string, seq int64, data []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return journal.ErrClosed
	}
	if x.now.stateBytes-stateRoom(x.now.states[conversation].data)+stateRoom(data) > maxStateBytes {
		x.wantFlush()
		return journal.ErrOverloaded
	}
	x.now.save(conversation, savedState{seq, slices.Clone(data)})
	if x.now.stateBytes >= maxStateBytes/2 {
		x.wantFlush()
	}
	return nil
}

func (x *index) loadState(conversation string) (seq int64, data []byte, err error) {
	x.mu.Lock()
	closed := x.closed
	for _, o := range slices.Backward(x.overlaysLocked()) {
		if s, ok := o.states[conversation]; ok && !closed {
			x.mu.Unlock()
			return s.seq, slices.Clone(s.data), nil
		}
	}
	x.mu.Unlock()
	if closed {
		return 0, nil, journal.ErrClosed
	}
	err = view(x.db, x.place(), func(tx *bbolt.Tx) error {
		b, err := lookup(tx, statesBucket, []byte(conversation))
		if err != nil || len(b) < 8 {
			return nil // lost
		}
		seq, data = int64(binary.BigEndian.Uint64(b)), slices.Clone(b[8:])
		return nil
	})
	return seq, data, err
}

func (x *index) wantFlush() {
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// room waits until index.db is near enough for another commit. Its error is that of writing index.db.
func (x *index) room() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now.records < lagFactor*x.every {
		return nil
	}
	tried := x.tried
	x.wantFlush()
	for x.tried == tried && x.now.records >= lagFactor*x.every {
		x.flushed.Wait()
	}
	if x.now.records >= lagFactor*x.every && x.err != nil {
		return fmt.Errorf("%s is %d records behind: %w", indexFile, x.now.records, x.err)
	}
	return nil
}

// run flushes now and then, until stop.
func (x *index) run(stop <-chan struct{}, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		case <-x.kick:
		}
		x.flush() // a failure shows in room, and in close
	}
}

// flush brings index.db to what is published.
func (x *index) flush() error {
	x.flushMu.Lock()
	defer x.flushMu.Unlock()
	x.mu.Lock()
	if x.old == nil {
		x.old, x.oldEnd, x.now = x.now, x.end, newOverlay()
	}
	o, end := x.old, x.oldEnd
	x.mu.Unlock()

	err := x.write(o, end)

	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.old = nil
		x.flushes++
	}
	x.err = err
	x.tried++
	x.flushed.Broadcast()
	return err
}

func (x *index) write(o *overlay, end tail) error {
	if o.empty() || x.stuck != nil {
		return x.stuck
	}
	c := x.written
	c.position, c.sum = end.position, end.sum
	_, stuck, err := update(x.db, x.place(), func(tx *bbolt.Tx) error {
		if err := applyOverlay(tx, o, &c.counts); err != nil {
			return err
		}
		return tx.Bucket(metaBucket).Put(checkpointKey, seal(checkpointKey, c.encode()))
	})
	if stuck {
		x.stuck = err
	}
	if err != nil {
		return fullOr(err)
	}
	x.written = c
	return nil
}

// forget drops what index.db does not have: nothing of it will be written.
func (x *index) forget() {
	x.flushMu.Lock()
	defer x.flushMu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.now, x.old = newOverlay(), nil
}

// close flushes and closes index.db. All others are done with it, except for readers.
func (x *index) close() error {
	err := x.flush()
	if err == nil {
		err = x.flush() // what came during a flush that had failed before
	}
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	if x.stuck != nil {
		return x.stuck
	}
	if e := x.db.Close(); err == nil {
		err = e
	}
	return err
}
