package vector_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/vector"
)

func embed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	v, err := vector.Lexical{}.Embed(t.Context(), texts)
	if err == nil {
		err = vector.Check(v, len(texts))
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLexicalIsTheSameEverywhere compares the bytes of the vectors. Other vectors need another
// name.
func TestLexicalIsTheSameEverywhere(t *testing.T) {
	d := sha256.New()
	for _, v := range embed(t, "The refund of order 17 was refused.", "größe – Ölpreis, 東京", "",
		strings.Repeat("a b c ", 1000)) {
		for _, x := range v {
			_ = binary.Write(d, binary.LittleEndian, math.Float32bits(x))
		}
	}
	const want = "409d51e53e8582874b44851ca650faaee462f30f1f38eb8462c41c7cf9b1e9ce"
	if got := hex.EncodeToString(d.Sum(nil)); got != want {
		t.Errorf("the vectors are %s, want %s", got, want)
	}
}

func TestLexicalFindsTextsWithTheSameWords(t *testing.T) {
	texts := []string{
		"The weather in Lisbon is sunny today",
		"A customer asks for a refund of an order",
		"Deployments of the web server failed twice",
		"Refunds for orders are paid within a week",
	}
	v := embed(t, append([]string{"when is the refund for my order paid?"}, texts...)...)
	hits := vector.Nearest(v[0], v[1:], 2)
	if len(hits) != 2 || hits[0].Index != 1 || hits[1].Index != 3 {
		t.Errorf("found %+v, want 1 and then 3", hits)
	}
	if same := vector.Cosine(v[1], embed(t, "TODAY the weather, in lisbon: is sunny!")[0]); same < 0.99 {
		t.Errorf("the order of words, their case and what stands between count: %f", same)
	}
}

func TestNearest(t *testing.T) {
	vectors := [][]float32{{0, 1}, {1, 0}, {0, 0}, {2, 0}, {-1, 0}, {1, 0, 0}}
	hits := vector.Nearest([]float32{1, 0}, vectors, 10)
	var order []int
	for _, h := range hits {
		order = append(order, h.Index)
	}
	if want := []int{1, 3, 0, 2, 5, 4}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v: equal ones by index, and what cannot be compared is unlike", order, want)
	}
	if hits[0].Score != 1 || hits[5].Score != -1 {
		t.Errorf("scores %+v", hits)
	}
	if got := vector.Nearest([]float32{1, 0}, vectors, 2); len(got) != 2 {
		t.Errorf("%d hits, want 2", len(got))
	}
}

func TestCheck(t *testing.T) {
	nan := float32(math.NaN())
	for name, bad := range map[string][][]float32{
		"too few": {{1}}, "empty": {{1}, {}}, "of two lengths": {{1}, {1, 2}}, "no number": {{1}, {nan}}, "endless": {{1},
			{float32(math.Inf(1))}},
		"too long": {make([]float32, vector.MaxDimensions+1), make([]float32, vector.MaxDimensions+1)},
	} {
		if err := vector.Check(bad, 2); !errors.Is(err, vector.ErrVectors) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := vector.Check([][]float32{{1, 2}, {0, 0}}, 2); err != nil {
		t.Error(err)
	}
}

func TestLexicalEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (vector.Lexical{}).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func BenchmarkLexical(b *testing.B) {
	texts := []string{strings.Repeat("the quick brown fox jumps over the lazy dog. ", 8<<10/45)}
	b.SetBytes(int64(len(texts[0])))
	for b.Loop() {
		_, _ = vector.Lexical{}.Embed(context.Background(), texts)
	}
}

func BenchmarkNearest(b *testing.B) {
	v := embed(b, "a question")
	all := make([][]float32, 1000)
	for i := range all {
		all[i] = embed(b, strings.Repeat("word ", i%7)+string(rune('a'+i%26)))[0]
	}
	for b.Loop() {
		vector.Nearest(v[0], all, 5)
	}
}
