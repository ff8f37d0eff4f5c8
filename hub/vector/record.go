package vector

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// The file of a Store is fileMagic and then records, one behind the other:
//
//	4 bytes  how many numbers, little endian; 1 to MaxDimensions
//	32       the key: SHA-256 of the embedder's name, a zero byte, and the text
//	4 each   the numbers, IEEE 754, little endian
//	8        the first bytes of the SHA-256 of all that stands before in the record
const fileMagic = "parley vectors 1\n"

const (
	keyBytes    = sha256.Size
	headBytes   = 4 + keyBytes
	sumBytes    = 8
	numberBytes = 4
)

// key is how a Store knows a text of an embedder.
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

// recordBytes is the size of a record of a vector with so many numbers.
func recordBytes(dimensions int) int { return headBytes + numberBytes*dimensions + sumBytes }

// appendRecord adds a record to out.
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

// dimensionsOf reads how many numbers a record has; 0 where it is none.
func dimensionsOf(head []byte) int {
	n := binary.LittleEndian.Uint32(head)
	if n > MaxDimensions {
		return 0
	}
	return int(n)
}

// whole reports whether a record is what was written.
func whole(record []byte) bool {
	body := record[:len(record)-sumBytes]
	sum := sha256.Sum256(body)
	return bytes.Equal(sum[:sumBytes], record[len(body):])
}

// vectorOf reads the vector of a whole record.
func vectorOf(record []byte) []float32 {
	numbers := record[headBytes : len(record)-sumBytes]
	v := make([]float32, len(numbers)/numberBytes)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[i*numberBytes:]))
	}
	return v
}
