package bolt

// White-box: what a file holds is read by functions that no one calls from outside.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// FuzzRecord: any bytes are a record, and then exactly those that it is written as, or named as damaged; whatever their checksum says.
func FuzzRecord(f *testing.F) {
	whole := journal.Record{Position: 7, Conversation: "case", Seq: 3, Final: true, Labels: []string{"participant:a", ""}, Data: []byte(`{"seq":3}`)}
	long := journal.Record{Position: 7, Conversation: strings.Repeat("c", journal.MaxNameBytes), Seq: 1, Labels: []string{strings.Repeat("l", journal.MaxNameBytes), "l"}, Data: []byte("x")}
	bare := journal.Record{Position: 7, Conversation: "c", Seq: 1}
	for _, b := range [][]byte{
		appendRecord(nil, &whole, true), appendRecord(nil, &whole, false), appendRecord(nil, &bare, true), appendRecord(nil, &long, true), nil, make([]byte, recordHeader+recordTrailer), []byte(strings.Repeat("\xff", 80)),
	} {
		f.Add(uint64(7), b, "case")
		if len(b) > recordHeader+recordTrailer {
			f.Add(uint64(8), b, "case")
			f.Add(uint64(7), b[:len(b)-1], "")
			for _, at := range []int{0, 1, 2, 3, 4, 11, 44, 45, 46, 47, recordHeader} { // each length and flag once wrong
				wrong := bytes.Clone(b)
				wrong[at] ^= 0x81
				f.Add(uint64(7), wrong, "case")
			}
		}
	}
	f.Fuzz(func(t *testing.T, position uint64, b []byte, want string) {
		p := journal.Position(position)
		checkRecord(t, p, b, want)
		if n := len(b) - recordTrailer; n >= 0 { // and as if the damage were older than the checksum
			checkRecord(t, p, binary.BigEndian.AppendUint32(bytes.Clone(b[:n]), recordSum(p, b[:n])), want)
		}
	})
}

// TestRecordWithFlippedBit flips each bit of a record in turn. None of the results is a record.
func TestRecordWithFlippedBit(t *testing.T) {
	t.Parallel()
	record := journal.Record{Position: 7, Conversation: "case", Seq: 3, Final: true, Labels: []string{"a"}, Data: []byte(`{"seq":3}`)}
	stored := appendRecord(nil, &record, true)
	for bit := range 8 * len(stored) {
		b := bytes.Clone(stored)
		b[bit/8] ^= 1 << (bit % 8)
		if r, err := decodeRecord(record.Position, b, record.Conversation); err == nil {
			t.Fatalf("with bit %d flipped, the record is read as %+v", bit, r)
		}
	}
}

func checkRecord(t *testing.T, p journal.Position, b []byte, want string) {
	before := bytes.Clone(b)
	r, err := decodeRecord(p, b, want)
	if !bytes.Equal(before, b) {
		t.Fatal("the stored bytes were changed")
	}
	if err != nil {
		if !errors.Is(err, errChecksum) && !errors.Is(err, errLayout) && !errors.Is(err, errVersion) {
			t.Fatalf("the damage has no name: %v", err)
		}
		return
	}
	if r.Position != p || recordSize(&r) != len(b) {
		t.Fatalf("%d bytes are read as %+v", len(b), r)
	}
	if again := appendRecord(nil, &r, b[1]&flagFirstOfBatch != 0); !bytes.Equal(again, b) {
		t.Fatalf("% x\nis read as %+v, which is written as\n% x", b, r, again)
	}
	for i := range b { // it keeps nothing of what it was given
		b[i] = 0xff
	}
	if again := appendRecord(nil, &r, before[1]&flagFirstOfBatch != 0); !bytes.Equal(again, before) {
		t.Fatal("the record has changed with the bytes that it was read from")
	}
}

// FuzzIndex: any bytes in index.db are what is written so, or named as damaged.
func FuzzIndex(f *testing.F) {
	c := checkpoint{log: [16]byte{1, 2}, position: 12, sum: 99}
	for _, b := range [][]byte{
		c.encode(), headValue(journal.Head{Seq: 4, Final: true}), headValue(journal.Head{}), chunkValue([]journal.Position{1, 2, 900, 1 << 40}), chunkValue(nil),
		bytes.Repeat([]byte{1}, chunkSeqs), bytes.Repeat([]byte{1}, chunkSeqs+1), bytes.Repeat([]byte{0xff}, 11), {0x80}, {indexVersion}, seal([]byte("key"), []byte("value")),
	} {
		f.Add([]byte("key"), b)
		f.Add([]byte("key"), seal([]byte("key"), b))
	}
	f.Fuzz(func(t *testing.T, key, b []byte) {
		b = slices.Clip(b) // seal writes behind it, where the fuzzer has the key
		if value, err := unseal(key, b); err == nil && !bytes.Equal(seal(key, value), b) {
			t.Errorf("% x is unsealed to % x", b, value)
		} else if err != nil {
			mustName(t, err)
		}
		if value, err := unseal(key, seal(key, b)); err != nil || !bytes.Equal(value, b) {
			t.Errorf("% x is sealed, and unsealed to % x, %v", b, value, err)
		}
		if c, err := decodeCheckpoint(b); err == nil && !bytes.Equal(c.encode(), b) {
			t.Errorf("% x is read as %+v", b, c)
		} else if err != nil && !errors.Is(err, errIndex) {
			t.Errorf("the damage has no name: %v", err)
		}
		if h, err := decodeHead(b); err == nil && !bytes.Equal(headValue(h)[:40], b[:40]) {
			t.Errorf("% x is read as %+v", b, h)
		} else if err != nil {
			mustName(t, err)
		}
		positions, err := decodeChunk(b)
		if err != nil {
			mustName(t, err)
			return
		}
		if again, err := decodeChunk(chunkValue(positions)); err != nil || !slices.Equal(again, positions) || len(positions) > chunkSeqs {
			t.Errorf("% x is read as %d, which is written and read as %d, %v", b, positions, again, err)
		}
	})
}

func mustName(t *testing.T, err error) {
	if damage := (*journal.DamageError)(nil); !errors.As(err, &damage) || damage.What == "" || damage.File == "" {
		t.Errorf("the damage has no name: %v", err)
	}
}
