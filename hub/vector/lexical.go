package vector

import (
	"context"
	"math"
	"unicode"
	"unicode/utf8"
)

// LexicalName is the name of Lexical. Its number changes with the vectors.
const LexicalName = "lexical"

// lexicalDimensions is the length of its vectors, a power of two.
const lexicalDimensions = 512

// The weights of a word and of each three letters of it. The letters make similar words match, such
// as page and pages.
const (
	wordWeight    = 4
	trigramWeight = 1
)

// Lexical is an Embedder without a model. It hashes words, and groups of three letters, to
// dimensions of the vector. Texts are similar if they share words, whatever these mean.
type Lexical struct{}

var _ Embedder = Lexical{}

// Name is LexicalName.
func (Lexical) Name() string { return LexicalName }

// Embed returns vectors of length 1, or of zeros for a text without letters and digits.
func (Lexical) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = lexical(text)
	}
	return out, nil
}

func lexical(text string) []float32 {
	var counts [lexicalDimensions]int64
	word := make([]rune, 0, 32)
	for _, r := range text {
		if r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
			word = append(word, unicode.ToLower(r))
			continue
		}
		countWord(&counts, word)
		word = word[:0]
	}
	countWord(&counts, word)
	return normalized(&counts)
}

// countWord counts a word and its groups of three letters, including its start and its end.
func countWord(counts *[lexicalDimensions]int64, word []rune) {
	if len(word) == 0 {
		return
	}
	count(counts, wordWeight, word...)
	if len(word) < 3 {
		return
	}
	count(counts, trigramWeight, ' ', word[0], word[1])
	for i := 0; i+3 <= len(word); i++ {
		count(counts, trigramWeight, word[i], word[i+1], word[i+2], 0)
	}
	count(counts, trigramWeight, word[len(word)-2], word[len(word)-1], ' ')
}

// count adds weight to the dimension of some letters, or subtracts it. So letters that share a
// dimension do not make texts similar. It is FNV-1a over the runes.
func count(counts *[lexicalDimensions]int64, weight int64, letters ...rune) {
	h := uint64(14695981039346656037)
	for _, r := range letters {
		for shift := 0; shift < 32; shift += 8 {
			h = (h ^ uint64(byte(r>>shift))) * 1099511628211
		}
	}
	h ^= h >> 29
	h *= 0x9e3779b97f4a7c15
	h ^= h >> 32
	if h>>63 == 1 {
		weight = -weight
	}
	counts[h%lexicalDimensions] += weight
}

// normalized damps frequent words and scales the vector to length 1. Every step is rounded
// separately, because machines with fused multiply-add would round differently.
func normalized(counts *[lexicalDimensions]int64) []float32 {
	var damped [lexicalDimensions]float64
	sum := 0.0
	for i, n := range counts {
		root := math.Sqrt(math.Abs(float64(n)))
		damped[i] = math.Copysign(root, float64(n))
		sum += float64(root * root)
	}
	out := make([]float32, lexicalDimensions)
	if sum == 0 {
		return out
	}
	length := math.Sqrt(sum)
	for i, x := range damped {
		out[i] = float32(x / length)
	}
	return out
}
