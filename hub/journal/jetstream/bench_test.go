package jetstream_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/internal/natscluster"
)

// BenchmarkAppend is appends of 500 B to 1,000 conversations by some writers, each waiting for its Done, and, on the same server, before and after, what JetStream does by
// itself: so many publishers of messages of 500 B, each waiting for its acknowledgement. Both sync always.
func BenchmarkAppend(b *testing.B) {
	for _, servers := range []int{1, 3} {
		c := cluster(b, &natscluster.Options{Servers: servers})
		for _, writers := range []int{1, 64, 256, 1024} {
			b.Run(fmt.Sprintf("servers=%d/writers=%d", servers, writers),
				func(b *testing.B) { benchmarkAppend(b, c, servers, writers) })
		}
	}
}

var benchNames atomic.Int64

func benchmarkAppend(b *testing.B, c *natscluster.Cluster, servers, writers int) {
	name := fmt.Sprint("bench-", benchNames.Add(1))
	j := open(b, c.URL(), filepath.Join(b.TempDir(), "replica"),
		jetstream.Options{Name: name, Replicas: servers, System: c.SystemURL(), Patience: calm})
	plain := plainStream(b, c, name+"-plain", servers)
	before := plain(writers)
	b.ResetTimer()
	write(b, j, writers, b.N)
	b.StopTimer()
	rate := float64(b.N) / b.Elapsed().Seconds()
	alone := (before + plain(writers)) / 2
	b.ReportMetric(rate, "ev/s")
	b.ReportMetric(alone, "plain/s")
	b.ReportMetric(rate/alone, "times")
}

// write appends n events of 500 B to 1,000 conversations that are new, by some writers, each waiting for its Done.
func write(b *testing.B, j journal.Journal, writers, n int) {
	b.Helper()
	const conversations = 1000
	each := (conversations + writers - 1) / writers
	event := make([]byte, 500)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			seqs := make(map[string]int64) // each writer has separate conversations
			done := make(chan error, 1)
			for i := 0; next.Add(1) <= int64(n); i++ {
				id := fmt.Sprintf("conversation-%d", i%each*writers+w)
				j.Submit(journal.Batch{
					Conversation: id, After: seqs[id], Events: [][]byte{event},
					Done: func(_ journal.Head, err error) { done <- err },
				})
				if err := <-done; err != nil {
					b.Error(err)
					return
				}
				seqs[id]++
			}
		})
	}
	wg.Wait()
}

// BenchmarkReplica measures how fast a replica is restored from the stream, from Open until it is
// complete: events of 500 B, written by one writer and by 256, whose events share messages. It also
// reports the bytes of the stream and of the replica for an event.
func BenchmarkReplica(b *testing.B) {
	c := cluster(b, nil)
	for _, fill := range []struct{ writers, events int }{{1, 5000}, {256, 100_000}} {
		b.Run(fmt.Sprintf("writers=%d", fill.writers),
			func(b *testing.B) { benchmarkReplica(b, c, fill.writers, fill.events) })
	}
}

func benchmarkReplica(b *testing.B, c *natscluster.Cluster, writers, events int) {
	o := jetstream.Options{Name: fmt.Sprint("replica-", benchNames.Add(1)), System: c.SystemURL(), Patience: calm}
	j := open(b, c.URL(), filepath.Join(b.TempDir(), "replica"), o)
	write(b, j, writers, events)
	messages := j.Applied()
	var size int64
	for b.Loop() {
		again := open(b, c.URL(), filepath.Join(b.TempDir(), "again"), o)
		b.StopTimer()
		if n := again.Last(); n != journal.Position(events) {
			b.Fatalf("the replica has %d of %d events", n, events)
		}
		size = again.Size()
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	s, err := client(b, c).Stream(b.Context(), o.Name)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "ev/s")
	b.ReportMetric(float64(events)/float64(messages), "ev/message")
	b.ReportMetric(float64(s.CachedInfo().State.Bytes)/float64(events), "stream-B/ev")
	b.ReportMetric(float64(size)/float64(events), "replica-B/ev")
}

// plainStream returns a function that measures how many messages a second some publishers get
// acknowledged, each with one message under way.
func plainStream(b *testing.B, c *natscluster.Cluster, name string, replicas int) func(publishers int) float64 {
	b.Helper()
	nc, err := nats.Connect(c.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), natsjs.StreamConfig{Name: name, Subjects: []string{name},
		Replicas: replicas}); err != nil {
		b.Fatal(err)
	}
	return func(publishers int) float64 {
		const measured = time.Second
		message := make([]byte, 500)
		// of one publish it would be 5 s, which is short for so many at three servers
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		var n atomic.Int64
		var wg sync.WaitGroup
		start := time.Now()
		for range publishers {
			wg.Go(func() {
				for time.Since(start) < measured {
					if _, err := js.Publish(ctx, name, message); err != nil {
						b.Error(err)
						return
					}
					n.Add(1)
				}
			})
		}
		wg.Wait()
		return float64(n.Load()) / time.Since(start).Seconds()
	}
}
