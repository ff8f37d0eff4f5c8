package vector

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// The file of a Store is fileMagic followed by records:
//
//	4 bytes  the number of dimensions, little endian; 1 to MaxDimensions
//	32       the key: SHA-256 of the embedder's name, a zero byte, and the text
//	4 each   the numbers, IEEE 754, little endian
//	8        the first bytes of the SHA-256 of the record up to here
const fileMagic = "parley vectors 1\n"

const (
	keyBytes    = sha256.Size
	headBytes   = 4 + keyBytes
	sumBytes    = 8
	numberBytes = 4
)

// key identifies a text of an embedder.
type key [keyBytes]byte

func keyOf(embedder, text string) key {
	d := sha256.New()
	d.Write([]byte(embedder))
	d.Write([]byte{0})
	d.Write([]byte(text))
	var k key
	d.Sum(k[:0])
	return k
}

func recordBytes(dimensions int) int { return headBytes + numberBytes*dimensions + sumBytes }

func appendRecord(out []byte, k key, v []float32) []byte {
	from := len(out)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(v)))
	out = append(out, k[:]...)
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	sum := sha256.Sum256(out[from:])
	return append(out, sum[:sumBytes]...)
}

// dimensionsOf returns the dimensions of a record, or 0 if it is not valid.
func dimensionsOf(head []byte) int {
	n := binary.LittleEndian.Uint32(head)
	if n > MaxDimensions {
		return 0
	}
	return int(n)
}

// whole reports whether a record has its checksum.
func whole(record []byte) bool {
	body := record[:len(record)-sumBytes]
	sum := sha256.Sum256(body)
	return bytes.Equal(sum[:sumBytes], record[len(body):])
}

func vectorOf(record []byte) []float32 {
	numbers := record[headBytes : len(record)-sumBytes]
	v := make([]float32, len(numbers)/numberBytes)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[i*numberBytes:]))
	}
	return v
}
