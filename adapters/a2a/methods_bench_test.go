package a2a

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkSend is a blocking SendMessage from a caller inside the hub to an agent that answers
// over a socket, with one context each or one for all.
func BenchmarkSend(b *testing.B) {
	for _, c := range []struct{ name, context string }{{"new context", ""}, {"one context", "mine"}} {
		b.Run(c.name, func(b *testing.B) {
			w := newOpsWorld(b)
			alice := &caller{client: w.h.InProcess(b, "alice"), agent: w.s.agent("bot")}
			n := 0
			for b.Loop() {
				n++
				w.send(alice, opsAt(fmt.Sprint("m", n), "hello", c.context, ""))
			}
		})
	}
	b.Run("new context, parallel", func(b *testing.B) {
		w := newOpsWorld(b)
		alice := &caller{client: w.h.InProcess(b, "alice"), agent: w.s.agent("bot")}
		var n atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				w.send(alice, opsRequest(fmt.Sprint("m", n.Add(1)), "hello"))
			}
		})
	})
}

// BenchmarkFirstEvent measures the time to the first event of a stream.
func BenchmarkFirstEvent(b *testing.B) {
	w := newOpsWorld(b)
	alice := &caller{client: w.h.InProcess(b, "alice"), agent: w.s.agent("bot")}
	n := 0
	for b.Loop() {
		n++
		for _, err := range w.s.stream(b.Context(), alice, opsRequest(fmt.Sprint("m", n), "hello")) {
			if err != nil {
				b.Fatal(err)
			}
			break
		}
	}
}
