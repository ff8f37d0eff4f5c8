package jetstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/parleyhub/parley/hub/journal"
)

// A message of the stream:
//
//	0       version of this layout, messageVersion
//	1       flags
//	2..17   writer: random for each journal that is opened
//	18..25  number: counted by the writer
//	26..    the parts, or, with flagElsewhere, the SHA-256 of the blob that has them
//	last 4  CRC32C of all before
//
// The parts are a count and as many of these, each a batch:
//
//	flags, conversation; in the first part of a conversation in the message: the seq and the hash of the head of all its parts;
//	labels, events
//
// Numbers are uvarints, except for those at the top, which are big-endian. Strings and events are
// preceded by their length.
const (
	messageVersion = 1 // written by this package, and the newest version that it reads
	messageHeader  = 26
	messageTrailer = 4

	flagElsewhere = 1 << 0

	partFinal = 1 << 0
	partFirst = 1 << 1
	partKnown = partFinal | partFirst
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errLayout = errors.New("layout of the message")

// message is the content of one publish.
type message struct {
	writer [16]byte
	number uint64
	blob   *journal.Hash // has the parts; nil if the message has them
	parts  []part
}

// part is a batch. All parts of a conversation in a message are accepted or none.
type part struct {
	conversation string
	first        bool         // of its conversation in the message
	on           journal.Head // with first: the head on which the parts are based
	events       [][]byte
	final        bool
	labels       []string
}

// partSize bounds the bytes that appendPart appends.
func partSize(p *part) int {
	n := 2 + len(p.conversation) + 2*binary.MaxVarintLen64 + len(p.on.Hash) + binary.MaxVarintLen64
	for _, l := range p.labels {
		n += 1 + len(l)
	}
	for _, e := range p.events {
		n += binary.MaxVarintLen32 + len(e)
	}
	return n
}

func appendPart(b []byte, p *part) []byte {
	var flags byte
	if p.final {
		flags |= partFinal
	}
	if p.first {
		flags |= partFirst
	}
	b = append(b, flags, byte(len(p.conversation)))
	b = append(b, p.conversation...)
	if p.first {
		b = binary.AppendUvarint(b, uint64(p.on.Seq))
		b = append(b, p.on.Hash[:]...)
	}
	b = append(b, byte(len(p.labels)))
	for _, l := range p.labels {
		b = append(append(b, byte(len(l))), l...)
	}
	b = binary.AppendUvarint(b, uint64(len(p.events)))
	for _, e := range p.events {
		b = append(binary.AppendUvarint(b, uint64(len(e))), e...)
	}
	return b
}

func encodeParts(parts []part) []byte {
	size := binary.MaxVarintLen64
	for i := range parts {
		size += partSize(&parts[i])
	}
	b := binary.AppendUvarint(make([]byte, 0, size), uint64(len(parts)))
	for i := range parts {
		b = appendPart(b, &parts[i])
	}
	return b
}

// encodeMessage returns the stored form of a message whose parts are encoded or in a blob.
func encodeMessage(m *message, parts []byte) []byte {
	b := make([]byte, 0, messageHeader+len(parts)+len(journal.Hash{})+messageTrailer)
	var flags byte
	if m.blob != nil {
		flags |= flagElsewhere
	}
	b = append(b, messageVersion, flags)
	b = append(b, m.writer[:]...)
	b = binary.BigEndian.AppendUint64(b, m.number)
	if m.blob != nil {
		b = append(b, m.blob[:]...)
	} else {
		b = append(b, parts...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeMessage decodes a message and keeps slices of b. It returns journal.ErrFormat if another
// program or a newer version wrote it.
func decodeMessage(b []byte) (message, error) {
	var m message
	if len(b) < messageHeader+messageTrailer || b[0] == 0 || b[0] > messageVersion {
		return m, fmt.Errorf("%w: a message of %d bytes, that begins with %x, is not of version 1 to %d", journal.ErrFormat,
			len(b), b[:min(len(b), 8)], messageVersion)
	}
	body := b[:len(b)-messageTrailer]
	if binary.BigEndian.Uint32(b[len(body):]) != crc32.Checksum(body, castagnoli) {
		return m, errors.New("checksum")
	}
	if b[1]&^flagElsewhere != 0 {
		return m, fmt.Errorf("%w: a message with the flags %x", journal.ErrFormat, b[1])
	}
	m.writer = [16]byte(b[2:18])
	m.number = binary.BigEndian.Uint64(b[18:])
	rest := body[messageHeader:]
	if b[1]&flagElsewhere == 0 {
		var err error
		m.parts, err = decodeParts(rest)
		return m, err
	}
	if len(rest) != len(journal.Hash{}) {
		return m, errLayout
	}
	h := journal.Hash(rest)
	m.blob = &h
	return m, nil
}

// reader decodes a message. After an error it returns zero values.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.bytes(1); len(v) == 1 {
		return v[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) hash() (h journal.Hash) {
	copy(h[:], r.bytes(uint64(len(h))))
	return h
}

func (r *reader) text() string { return string(r.bytes(uint64(r.byte()))) }

func decodeParts(b []byte) ([]part, error) {
	r := &reader{b: b}
	n := r.uvarint()
	if n > uint64(len(b)) {
		return nil, errLayout
	}
	parts := make([]part, 0, n)
	seen := make(map[string]bool)
	for range n {
		p, err := decodePart(r)
		if err != nil {
			return nil, err
		}
		if p.first == seen[p.conversation] {
			return nil, errLayout
		}
		seen[p.conversation] = true
		parts = append(parts, p)
	}
	if r.bad || len(r.b) > 0 {
		return nil, errLayout
	}
	return parts, nil
}

func decodePart(r *reader) (part, error) {
	flags := r.byte()
	if flags&^partKnown != 0 {
		return part{}, fmt.Errorf("%w: a part with the flags %x", journal.ErrFormat, flags)
	}
	p := part{conversation: r.text(), first: flags&partFirst != 0, final: flags&partFinal != 0}
	if p.first {
		p.on = journal.Head{Seq: int64(r.uvarint()), Hash: r.hash()}
	}
	for range r.byte() {
		p.labels = append(p.labels, r.text())
	}
	n := r.uvarint()
	if n == 0 || n > uint64(len(r.b)) || p.conversation == "" || p.on.Seq < 0 {
		return part{}, errLayout
	}
	p.events = make([][]byte, 0, n)
	for range n {
		p.events = append(p.events, r.bytes(r.uvarint()))
	}
	if r.bad {
		return part{}, errLayout
	}
	return p, nil
}
