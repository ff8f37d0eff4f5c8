package vector

import (
	"cmp"
	"math"
	"slices"
)

// Hit is a result of Nearest: the index of a vector and the cosine of the angle, -1 to 1.
type Hit struct {
	Index int
	Score float64
}

// Cosine returns the cosine of the angle between two vectors. It returns 0 if one is all zeros or
// their lengths differ.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab += float64(x * y) // rounded separately, as on every machine
		aa += float64(x * x)
		bb += float64(y * y)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / (math.Sqrt(aa) * math.Sqrt(bb))
}

// Nearest returns the n vectors most similar to the query, the best first. Of equal ones, the
// smaller index is first.
func Nearest(query []float32, vectors [][]float32, n int) []Hit {
	hits := make([]Hit, len(vectors))
	for i, v := range vectors {
		hits[i] = Hit{Index: i, Score: Cosine(query, v)}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return a.Index - b.Index
	})
	return hits[:min(n, len(hits))]
}
