package vector

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Embedder turns texts into vectors. The more similar two texts are, the smaller the angle between
// their vectors.
type Embedder interface {
	// Name identifies the embedder or the model, in 1 to MaxNameBytes. Only vectors of one name are
	// compared, so different vectors need a different name.
	Name() string
	// Embed returns a vector for each text, all of one length. It returns soon after ctx ends, and
	// may be called from any goroutine.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	// MaxNameBytes bounds the name of an embedder.
	MaxNameBytes = 255
	// MaxDimensions bounds the numbers of a vector.
	MaxDimensions = 16_384
)

// ErrVectors is wrapped if an Embedder breaks its contract.
var ErrVectors = errors.New("vector: the embedder has not given a vector of finite numbers for each text")

// Check checks the vectors of n texts against the contract of Embedder.
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
