package hub_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// cluster is some hubs on one journal, each of which reads a replica that lags.
type cluster struct {
	t       testing.TB
	journal *memory.Journal
	nodes   []*clusterNode
}

// clusterNode is one of them.
type clusterNode struct {
	*memory.Replica
	own    *hub.Hub
	peer   *memory.Peer
	writes atomic.Int64 // batches with events that it has submitted
	moved  atomic.Int64 // of these, that came too late
	checks atomic.Int64 // those without
	away   atomic.Bool  // the journal says that it cannot be reached
}

// Ready says whether the journal can be reached.
func (n *clusterNode) Ready() error {
	if n.away.Load() {
		return journal.ErrUnavailable
	}
	return nil
}

// Submit counts.
func (n *clusterNode) Submit(b journal.Batch) {
	b = b.Sealed()
	if len(b.Events) == 0 {
		n.checks.Add(1)
		n.Replica.Submit(b)
		return
	}
	n.writes.Add(1)
	done := b.Done
	b.Done = func(h journal.Head, err error) {
		if err != nil {
			n.moved.Add(1)
		}
		done(h, err)
	}
	n.Replica.Submit(b)
}

// Close is the replica's.
func (n *clusterNode) Close() error { return n.Replica.Close() }

// newCluster starts hubs whose replicas lag by that much, with clocks that are wrong by skews. The caller is in a bubble.
func newCluster(t testing.TB, hubs int, lag time.Duration, skews ...time.Duration) *cluster {
	t.Helper()
	c := &cluster{t: t, journal: newJournal(t)}
	peers := memory.NewPeers()
	for i := range hubs {
		n := &clusterNode{Replica: memory.NewReplica(c.journal, func() time.Duration { return lag }), peer: peers.Join()}
		t.Cleanup(n.Cut)
		o := rooted(fmt.Sprintf("%dx", i))
		o.Peers = n.peer
		if i < len(skews) {
			hub.Skew(o, skews[i])
		}
		n.own = startOn(t, n, o)
		c.nodes = append(c.nodes, n)
	}
	c.settle()
	return c
}

// settle waits until all hubs have all events and reports.
func (c *cluster) settle() {
	time.Sleep(3 * time.Second) // in the bubble
	synctest.Wait()
}

// hub returns one of the hubs.
func (c *cluster) hub(i int) *hub.Hub { return c.nodes[i].own }

// behind calls f while a hub is behind the others, and checks that the call waits until the hub
// catches up.
func (c *cluster) behind(i int, made func(), call func() error) {
	c.t.Helper()
	n := c.nodes[i]
	n.Pause()
	made()
	synctest.Wait()
	answered := make(chan error, 1)
	go func() { answered <- call() }()
	synctest.Wait()
	select {
	case err := <-answered:
		c.t.Errorf("it was answered by a hub that is behind: %v", err)
		n.Resume()
	default:
		n.Resume()
		if err := <-answered; err != nil {
			c.t.Error(err)
		}
	}
}

// count returns the number of events of a kind in the log of a conversation.
func (c *cluster) count(id, kind string) (n int) {
	c.t.Helper()
	for _, e := range events(c.t, c.journal, id) {
		if e.Type != parley.TypeSystem {
			continue
		}
		sys, err := e.System()
		if err != nil {
			c.t.Fatal(err)
		}
		if sys.Kind == kind {
			n++
		}
	}
	return n
}
