package hub_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/memory"
)

const words = "The quick brown fox jumps over the lazy dog."

// benchHub is a hub on a journal in memory whose log is not checked at the end.
func benchHub(b *testing.B) (*hub.Hub, journal.Journal) {
	j := memory.New()
	h, err := hub.Open(j, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(); _ = j.Close() })
	return h, j
}

// BenchmarkSendMessage: alone is one writer that waits for each answer, pipelined has 64 messages
// under way, and conversations has 64 writers, each in a separate conversation.
func BenchmarkSendMessage(b *testing.B) {
	for _, kind := range []string{"memory", "bolt"} {
		b.Run(kind+"/alone", func(b *testing.B) {
			h := benchOn(b, kind)
			p, id := lively(b, h)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p, id = livelyAgain(b, h, p, id, i)
				if r := <-post(h, p, message(id, words, parley.FinalityTurn, "")); r.err != nil {
					b.Fatal(r.err)
				}
			}
		})
		b.Run(kind+"/pipelined", func(b *testing.B) { pipelinedSends(b, benchOn(b, kind)) })
		b.Run(kind+"/conversations", func(b *testing.B) {
			h := benchOn(b, kind)
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				p, id := lively(b, h)
				for i := 0; pb.Next(); i++ {
					p, id = livelyAgain(b, h, p, id, i)
					if r := <-post(h, p, message(id, words, parley.FinalityTurn, "")); r.err != nil {
						b.Error(r.err)
						return
					}
				}
			})
		})
	}
}

func benchOn(b *testing.B, kind string) *hub.Hub {
	if kind == "memory" {
		h, _ := benchHub(b)
		return h
	}
	j, err := bolt.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	h, err := hub.Open(j, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(); _ = j.Close() })
	return h
}

func pipelinedSends(b *testing.B, h *hub.Hub) {
	p, id := lively(b, h)
	b.ReportAllocs()
	slots := make(chan struct{}, 64)
	done := func(_ parley.SendResult, err error) {
		if err != nil {
			b.Error(err)
		}
		<-slots
	}
	for i := 0; b.Loop(); i++ {
		p, id = livelyAgain(b, h, p, id, i)
		slots <- struct{}{}
		h.SendMessage(p, message(id, words, parley.FinalityTurn, ""), done)
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
}

func lively(b *testing.B, h *hub.Hub) (*hub.Principal, string) {
	p := h.LocalPrincipal("a")
	return p, create(b, h, p, open2("a", "b"))
}

// livelyAgain begins another conversation before the limit of events is reached.
func livelyAgain(b *testing.B, h *hub.Hub, p *hub.Principal, id string, i int) (*hub.Principal, string) {
	if i%90_000 != 89_999 {
		return p, id
	}
	return lively(b, h)
}

// BenchmarkSubscribeFanout: the time from a message's sending until the last of n subscribers has it.
func BenchmarkSubscribeFanout(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, _ := benchHub(b)
			p, id := lively(b, h)
			ctx, cancel := context.WithCancel(context.Background())
			var readers, got sync.WaitGroup
			for range n {
				s, err := h.Subscribe(ctx, p, &parley.SubscribeParams{ConversationID: id, SinceSeq: 1})
				if err != nil {
					b.Fatal(err)
				}
				got.Add(1)
				readers.Go(func() {
					defer s.Close()
					for {
						items, err := s.Next(ctx, 100)
						if err != nil {
							return
						}
						for _, i := range items {
							if i.Event != nil || i.CaughtUp {
								got.Done()
							}
						}
					}
				})
			}
			got.Wait()
			b.ReportAllocs()
			for b.Loop() {
				got.Add(n)
				if r := <-post(h, p, message(id, words, parley.FinalityNone, "")); r.err != nil {
					b.Fatal(r.err)
				}
				got.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/reader")
			cancel()
			readers.Wait()
		})
	}
}

// BenchmarkLoad: a conversation of 10,000 events is read by a hub that does not know it.
func BenchmarkLoad(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%t", kept), func(b *testing.B) {
			h, j := benchHub(b)
			p, id := lively(b, h)
			var all sync.WaitGroup
			for i := range 9_999 {
				all.Add(1)
				h.SendMessage(p, message(id, words, parley.FinalityTurn, fmt.Sprint("key-", i)),
					func(parley.SendResult, error) { all.Done() })
			}
			all.Wait()
			if kept {
				if err := h.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				fresh, err := hub.Open(j, nil)
				if err != nil {
					b.Fatal(err)
				}
				r, err := fresh.WaitForChange(context.Background(), p, &parley.WaitForChangeParams{ConversationID: id})
				if err != nil || r.LatestSeq != 10_000 {
					b.Fatal(r, err)
				}
				b.StopTimer()
				if err := fresh.Close(); err != nil {
					b.Fatal(err)
				}
				if !kept {
					if err := j.SaveState(id, 0, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
		})
	}
}
