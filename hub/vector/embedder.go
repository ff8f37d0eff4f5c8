package vector

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Embedder turns texts into vectors: the more alike two texts are, the smaller is the angle between theirs.
type Embedder interface {
	// Name says which embedder, or model, it is: 1 to MaxNameBytes. Vectors of different names are never compared. What gives other vectors has another name.
	Name() string
	// Embed gives a vector for each text, all of one length. It ends soon after ctx, and may be called from any goroutine.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	// MaxNameBytes bounds the name of an embedder.
	MaxNameBytes = 255
	// MaxDimensions bounds the numbers of a vector.
	MaxDimensions = 16_384
)

// ErrVectors is wrapped where an Embedder does not give what it should.
var ErrVectors = errors.New("vector: the embedder has not given a vector of finite numbers for each text")

// Check holds what an Embedder gave for n texts against its contract.
func Check(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return fmt.Errorf("%w: %d for %d texts", ErrVectors, len(vectors), n)
	}
	for i, v := range vectors {
		switch {
		case len(v) == 0 || len(v) > MaxDimensions:
			return fmt.Errorf("%w: one has %d numbers, expected 1 to %d", ErrVectors, len(v), MaxDimensions)
		case len(v) != len(vectors[0]):
			return fmt.Errorf("%w: one has %d numbers, another %d", ErrVectors, len(vectors[0]), len(v))
		case !finite(v):
			return fmt.Errorf("%w: vector %d", ErrVectors, i)
		}
	}
	return nil
}

func finite(v []float32) bool {
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}
