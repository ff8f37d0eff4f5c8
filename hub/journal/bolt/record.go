package bolt

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/parleyhub/parley/hub/journal"
)

// A record as it is stored:
//
//	0       version of this layout, 1
//	1       flags
//	2       bytes of the conversation's id
//	3       number of labels
//	4..11   seq
//	12..43  chain hash
//	44..47  bytes of the data
//	48..    id, labels (one byte of length and the label, each), data
//	last 4  CRC32C of the key and all before
//
// Numbers are big-endian.
const (
	recordVersion = 1
	recordHeader  = 48
	recordTrailer = 4

	flagFinal        = 1 << 0
	flagFirstOfBatch = 1 << 1
	knownFlags       = flagFinal | flagFirstOfBatch
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errChecksum = errors.New("checksum")
	errVersion  = errors.New("record version")
	errLayout   = errors.New("record layout")
)

func keyOf(p journal.Position) [8]byte {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(p))
	return key
}

// appendRecord appends the stored form of r, whose position is its key.
func appendRecord(b []byte, r *journal.Record, firstOfBatch bool) []byte {
	start := len(b)
	var flags byte
	if r.Final {
		flags |= flagFinal
	}
	if firstOfBatch {
		flags |= flagFirstOfBatch
	}
	b = append(b, recordVersion, flags, byte(len(r.Conversation)), byte(len(r.Labels)))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Seq))
	b = append(b, r.Hash[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.Data)))
	b = append(b, r.Conversation...)
	for _, l := range r.Labels {
		b = append(b, byte(len(l)))
		b = append(b, l...)
	}
	b = append(b, r.Data...)
	return binary.BigEndian.AppendUint32(b, recordSum(r.Position, b[start:]))
}

func recordSize(r *journal.Record) int {
	n := recordHeader + len(r.Conversation) + len(r.Data) + recordTrailer
	for _, l := range r.Labels {
		n += 1 + len(l)
	}
	return n
}

func recordSum(p journal.Position, b []byte) uint32 {
	key := keyOf(p)
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, b)
}

// decodeRecord reads the record at a position from its stored form, of which it keeps nothing. A want that is the record's conversation
// saves a copy.
func decodeRecord(p journal.Position, b []byte, want string) (journal.Record, error) {
	if len(b) < recordHeader+recordTrailer {
		return journal.Record{}, errLayout
	}
	body := b[:len(b)-recordTrailer]
	nID, nLabels, nData := int(b[2]), int(b[3]), int(binary.BigEndian.Uint32(b[44:]))
	// The lengths first: a damaged page may claim a value of gigabytes.
	if nID+nData > len(body)-recordHeader || len(body)-recordHeader > nID+nData+nLabels*(1+journal.MaxNameBytes) {
		return journal.Record{}, errLayout
	}
	if binary.BigEndian.Uint32(b[len(body):]) != recordSum(p, body) {
		return journal.Record{}, errChecksum
	}
	if b[0] != recordVersion || b[1]&^knownFlags != 0 {
		return journal.Record{}, errVersion
	}
	r := journal.Record{
		Position: p, Seq: int64(binary.BigEndian.Uint64(b[4:])), Hash: journal.Hash(b[12:44]), Final: b[1]&flagFinal != 0,
	}
	rest := body[recordHeader:]
	if r.Conversation = want; string(rest[:nID]) != want {
		r.Conversation = string(rest[:nID])
	}
	rest = rest[nID:]
	for range nLabels {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return journal.Record{}, errLayout
		}
		end := 1 + int(rest[0]) // as a byte it would be 0 behind the longest label
		r.Labels = append(r.Labels, string(rest[1:end]))
		rest = rest[end:]
	}
	if len(rest) != nData {
		return journal.Record{}, errLayout
	}
	r.Data = append(make([]byte, 0, nData), rest...)
	return r, nil
}
