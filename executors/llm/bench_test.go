package llm_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// BenchmarkChunkOverhead measures the time that the runtime adds to each chunk of a stream: from
// the provider's emit to its return, with an empty sink. It fails if that is more than 1 ms at the
// 99th percentile. One iteration is a stream of 1,000 chunks.
func BenchmarkChunkOverhead(b *testing.B) {
	const chunks = 1000
	piece := strings.Repeat("word ", 4)
	for _, c := range []struct {
		name string
		o    llm.Options
	}{
		{"each", llm.Options{}},
		{"pending", llm.Options{Streaming: llm.StreamingOptions{Every: 30 * time.Millisecond}}},
		{"budget", llm.Options{Budget: llm.Budget{Tokens: 1e9, Time: time.Hour}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N*chunks)
			r := llm.NewRuntime(fake(func(_ context.Context, _ *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
				for range chunks {
					began := time.Now()
					if err := emit(llm.Chunk{Text: piece}); err != nil {
						return nil, err
					}
					took = append(took, time.Since(began))
				}
				return &llm.Response{Text: strings.Repeat(piece, chunks), Finish: llm.FinishStop}, nil
			}), nil)
			p := prepare(b, r, &llm.Definition{Model: "m"}, &c.o)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.RunStream(b.Context(), p, question("hi"), nil); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			p50, p99 := took[len(took)/2], took[len(took)*99/100]
			b.ReportMetric(float64(p50.Nanoseconds()), "p50-ns/chunk")
			b.ReportMetric(float64(p99.Nanoseconds()), "p99-ns/chunk")
			if p99 > time.Millisecond {
				b.Errorf("a chunk takes %s at the 99th percentile: expected at most 1ms", p99)
			}
		})
	}
}
