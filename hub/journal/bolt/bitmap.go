package bolt

import "math/bits"

// bitmap is a set of small numbers.
type bitmap []uint64

// newBitmap returns an empty one, of numbers below n.
func newBitmap(n uint64) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i uint64) bool { return b[i/64]>>(i%64)&1 != 0 }

func (b bitmap) set(i uint64) { b[i/64] |= 1 << (i % 64) }

// last returns the largest of from and above that is below to.
func (b bitmap) last(from, to uint64) (i uint64, ok bool) {
	for to > from {
		at := (to - 1) / 64
		if word := b[at] << (63 - (to-1)%64); word != 0 {
			i = to - 1 - uint64(bits.LeadingZeros64(word))
			return i, i >= from
		}
		to = at * 64
	}
	return 0, false
}
