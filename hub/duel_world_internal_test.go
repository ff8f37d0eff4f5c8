package hub

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/history"
)

// duel is one duel.
type duel struct {
	t     *testing.T
	seed  uint64
	plant string // the bug that is planted, if any
	script

	parties sync.WaitGroup
	over    chan struct{}
	stamps  atomic.Int64
	nodesUp atomic.Int64 // how many nodes there have been

	mu            sync.Mutex // guards the fields below
	journal       *memory.Journal
	peers         *memory.Peers
	nodes         [hubs]*node // nil while it is down
	history       []history.Op
	said          map[string]*saying
	registrations []registering
	offers        map[string][]time.Time // by turn
	steady        []interval             // when the good replica was registered
	troubles      []time.Time            // when the journal failed
	grants        []granting
	lost          []losing
	writtenAt     map[string]time.Time // of each event, by placeOf
	logs          map[string][][]byte  // at the end
	result        result
}

// hubs is how many there are.
const hubs = 3

// script is how a duel is set up.
type script struct {
	replicas, conversations, questions int
	limits                             parley.Limits
	graceMs                            int64
	lag                                time.Duration
}

// node is one run of a hub, from its start until it crashes.
type node struct {
	hub  *Hub
	link *link
	peer *memory.Peer
	dead chan struct{}
}

func (n *node) isDead() bool {
	select {
	case <-n.dead:
		return true
	default:
		return false
	}
}

type interval struct{ from, to time.Time }

func newDuel(t *testing.T, seed uint64, plant string) *duel {
	d := &duel{
		t: t, seed: seed, plant: plant, over: make(chan struct{}), journal: memory.New(), peers: memory.NewPeers(), said: make(map[string]*saying),
		offers: make(map[string][]time.Time), writtenAt: make(map[string]time.Time), logs: make(map[string][][]byte),
	}
	r := d.random("script", 0)
	d.conversations = 1 + r.IntN(3)
	length := pick(r, int64(300), 1000, 3000)
	d.script = script{
		replicas: 3 + r.IntN(6), conversations: d.conversations, questions: (20+r.IntN(5)+d.conversations-1)/d.conversations + 1,
		limits: parley.Limits{
			TurnTimeoutMs: length, MaxClaimMs: 3 * length, ClaimWindowMs: pick(r, int64(50), 200), MaxAttempts: pick(r, 3, 100),
		},
		graceMs: pick(r, int64(100), 500), lag: pick(r, 0, 5*time.Millisecond, 40*time.Millisecond),
	}
	return d
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// random returns the random source of a party.
func (d *duel) random(party string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, party, n)
	return rand.New(rand.NewPCG(d.seed, h.Sum64()))
}

// conversation names one.
func conversationOf(i int) string { return fmt.Sprintf("c%d", i) }

// play plays until every conversation is closed.
func (d *duel) play() {
	d.openAll()
	for i := range d.conversations {
		d.create(conversationOf(i))
	}
	var observing sync.WaitGroup
	observing.Go(d.observe)
	for i := range d.replicas {
		d.parties.Go(newReplica(d, i).run)
	}
	d.parties.Go(d.chaos)
	var drivers sync.WaitGroup
	for i := range d.conversations {
		drivers.Go(func() { d.drive(conversationOf(i)) })
	}
	drivers.Wait()
	close(d.over)
	d.parties.Wait()
	for _, n := range d.nodes {
		n.hub.Close()
		n.link.end()
	}
	for i := range d.conversations {
		d.keep(conversationOf(i))
	}
	journaltest.CheckInvariants(d.t, d.journal)
	d.journal.Close()
	observing.Wait()
}

// keep keeps a log for the judge.
func (d *duel) keep(id string) {
	for {
		records, err := d.journal.Read(id, int64(len(d.logs[id])), 1000, 8<<20)
		if err != nil {
			d.t.Fatal(err)
		}
		if len(records) == 0 {
			return
		}
		for _, r := range records {
			d.logs[id] = append(d.logs[id], r.Data)
		}
	}
}

func (d *duel) create(id string) {
	_, err := d.nodes[0].hub.Client(d.nodes[0].hub.LocalPrincipal("d")).CreateConversation(d.t.Context(),
		&parley.CreateConversationParams{
			ConversationID: id, Limits: &d.limits, StartsWith: "d",
			Participants: []parley.Participant{{ID: "d", Kind: parley.KindHuman}, {ID: "a", Kind: parley.KindAgent}},
		})
	if err != nil {
		d.t.Fatal(err)
	}
}

// skews are how wrong the clocks are.
var skews = [hubs]time.Duration{5 * time.Minute, -5 * time.Minute, 0}

// open starts a hub on the journal.
func (d *duel) open(i int) {
	run := d.nodesUp.Add(1)
	var ids atomic.Int64
	d.mu.Lock()
	l := newLink(d.journal, d.lag, d.random("link", int(run)))
	d.mu.Unlock()
	l.blind, l.forced = d.plant == plantBlind, d.plant == plantNoCompare
	peer := d.peers.Join()
	h, err := Open(l, &Options{
		Peers: peer, skew: skews[i], NewID: func(prefix string) string { return fmt.Sprintf("%s%d.%d", prefix, run, ids.Add(1)) },
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.nodes[i] = &node{hub: h, link: l, peer: peer, dead: make(chan struct{})}
	d.mu.Unlock()
}

// openAll starts all hubs, crashAll ends them.
func (d *duel) openAll() {
	for i := range hubs {
		d.open(i)
	}
}

func (d *duel) crashAll() {
	for i := range hubs {
		d.crash(i)
	}
}

// crash ends a hub as kill -9 would: what it had not answered it never answers. Its goroutines are waited for. Close would wait for every call before them, and some of those
// never come back now; so here all that is under way comes to where it waits first, and begins none afterwards.
func (d *duel) crash(i int) {
	d.mu.Lock()
	n := d.nodes[i]
	d.nodes[i] = nil
	d.result.crashes++
	d.mu.Unlock()
	close(n.dead)
	n.peer.Cut(true)
	n.link.end()
	n.hub.Drain()
	synctest.Wait()
	n.hub.conv.Stop()
}

// node returns a running hub, if possible another one than not.
func (d *duel) node(r *rand.Rand, not *node) *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found *node
	for i, from := 0, r.IntN(hubs); i < hubs; i++ {
		n := d.nodes[(from+i)%hubs]
		if n != nil && n != not {
			return n
		}
		if n != nil {
			found = n
		}
	}
	return found
}

// pause returns false when the duel is over.
func (d *duel) pause(for_ time.Duration) bool {
	select {
	case <-time.After(for_):
		return true
	case <-d.over:
		return false
	}
}

func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)+1))
}

// chaos is everything that goes wrong below the replicas. It comes in storms: what a hub ends it has watched for its whole duration, so hubs that never live
// so long end nothing.
func (d *duel) chaos() {
	r := d.random("chaos", 0)
	rest := pick(r, 200*time.Millisecond, time.Second, 3*time.Second)
	calm := 3 * time.Duration(d.limits.TurnTimeoutMs) * time.Millisecond
	for d.pause(between(r, rest/4, rest)) {
		if r.IntN(6) == 0 && !d.pause(calm) {
			return
		}
		switch r.IntN(10) {
		case 0, 1, 2:
			i := r.IntN(hubs)
			d.crash(i)
			d.pause(between(r, 0, time.Second))
			d.open(i)
		case 3:
			d.crashAll()
			d.pause(between(r, 0, time.Second))
			d.openAll()
		case 4:
			d.trouble()
			d.journal.FailNext(journal.ErrStorageFull)
			d.mu.Lock()
			d.result.fulls++
			d.mu.Unlock()
		case 5:
			d.lose(r)
		case 6:
			d.trouble()
			d.journal.Hold()
			d.pause(between(r, 0, 300*time.Millisecond))
			d.journal.Release()
			d.trouble()
		}
	}
}

// trouble notes that the journal does not do now what it should.
func (d *duel) trouble() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.troubles = append(d.troubles, time.Now())
}

// lose makes the outcome of a commit unknown, and starts everything again.
func (d *duel) lose(r *rand.Rand) {
	d.trouble()
	if r.IntN(2) == 0 {
		d.journal.LoseNext()
	} else {
		d.journal.FailNext(journal.ErrOutcomeUnknown)
	}
	d.pause(between(r, 0, 500*time.Millisecond))
	d.crashAll()
	fresh := d.journal.Crash()
	d.mu.Lock()
	d.journal = fresh
	d.result.losses++
	d.mu.Unlock()
	d.openAll()
	d.trouble()
}

// observe notes when events are written.
func (d *duel) observe() {
	var at journal.Position
	for {
		d.mu.Lock()
		j := d.journal
		d.mu.Unlock()
		changed := j.Watch()
		records, err := j.Scan(at, 1000, 8<<20)
		now := time.Now()
		d.mu.Lock()
		for _, r := range records {
			at = r.Position
			d.writtenAt[placeOf(r.Conversation, r.Seq)] = now
		}
		replaced := d.journal != j
		d.mu.Unlock()
		switch {
		case len(records) > 0 || replaced:
		case err != nil && d.isOver():
			return
		case err != nil:
			time.Sleep(time.Millisecond) // until there is another one
		default:
			<-changed
		}
	}
}

func (d *duel) isOver() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

func placeOf(conversation string, seq int64) string { return fmt.Sprintf("%s/%d", conversation, seq) }

// problem notes what must not be.
func (d *duel) problem(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result.problems = append(d.result.problems, fmt.Sprintf(format, args...))
}
