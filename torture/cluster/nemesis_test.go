package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

const (
	// shortestFault is how long a fault lasts at least; -cluster.lasts is how long it does at most.
	shortestFault = time.Second
	// backTime detects, after the last fault, that hubs do not get ready or that nothing is done.
	backTime = 5 * time.Minute
)

// load is what continues while a cluster is harmed.
type load interface {
	// Done is how much was done so far, such as appends.
	Done() int64
	// Failure returns the first unexpected error, once there is one.
	Failure() <-chan error
}

// more waits until so much more was done, and returns how long that took. Longer than within fails
// the test.
func (n *nemesis) more(much int64, within time.Duration) time.Duration {
	n.c.t.Helper()
	start, from := time.Now(), n.load.Done()
	for n.load.Done() < from+much {
		select {
		case err := <-n.load.Failure():
			n.c.t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
		n.c.check()
		if time.Since(start) > within {
			n.c.t.Fatalf("%d done in %s, expected %d: too little to prove anything", n.load.Done()-from, within, much)
		}
	}
	return time.Since(start)
}

// kind is a kind of fault.
type kind struct {
	name  string
	apart bool // it needs a network or a disk of the machines' own
	alone bool // no other fault goes with it
	// strike injects the fault and returns its target; heal ends it. A nil heal means that the kind
	// had no target.
	strike func(n *nemesis) (whom string, heal func())
}

// serverCut is also what comes of a cut of the leader where none is known, or it is harmed already.
var serverCut = kind{name: "server cut off from the others", apart: true, strike: func(n *nemesis) (string, func()) {
	s := n.server()
	return n.part(s.name, others(n.c.servers, s)...)
}}

var kinds = []kind{
	{name: "hub killed", strike: func(n *nemesis) (string, func()) { return kill(n.hub()) }},
	{name: "server killed", strike: func(n *nemesis) (string, func()) { return kill(n.server()) }},
	{name: "hub paused", strike: func(n *nemesis) (string, func()) { return pause(n.hub()) }},
	{name: "server paused", strike: func(n *nemesis) (string, func()) { return pause(n.server()) }},
	{name: "hub cut off from all servers", apart: true, strike: func(n *nemesis) (string, func()) {
		h := n.hub()
		return n.part(h.name, others(n.c.servers, nil)...)
	}},
	{name: "hub cut off from one server", apart: true, strike: func(n *nemesis) (string, func()) {
		h, s := n.hub(), n.server()
		return n.part(h.name, s.name)
	}},
	{name: "hub cut off from its clients", apart: true, strike: func(n *nemesis) (string,
		func()) {
		return n.part(n.hub().name, clientsName)
	}},
	serverCut,
	{name: "server cut off one way", apart: true, strike: func(n *nemesis) (string,
		func()) {
		return n.oneWay(n.server())
	}},
	{name: "leader cut off from the others", apart: true, strike: func(n *nemesis) (string, func()) {
		s := n.leader()
		if s == nil {
			return "", nil
		}
		return n.part(s.name, others(n.c.servers, s)...)
	}},
	{name: "server out of room", apart: true, strike: func(n *nemesis) (string, func()) { return n.fill(n.server()) }},
	{name: "all servers out of room", apart: true, alone: true,
		strike: func(n *nemesis) (string, func()) { return n.fill(n.c.servers...) }},
	{name: "server without power", apart: true, strike: func(n *nemesis) (string,
		func()) {
		return n.powerOff(n.server())
	}},
}

// cutName counts the cuts of the power of all.
const cutName = "all without power"

// nemesis harms a cluster. It belongs to the goroutine of the test.
type nemesis struct {
	c      *cluster
	load   load
	much   int64 // is done before each fault at least, up to twice as much, and as much again until all is well
	rng    *rand.Rand
	lasts  time.Duration
	deck   []kind
	harmed map[*machine]bool   // for as long as the present faults last
	counts map[string]int      // number of injected faults by kind
	drawn  map[string]bool     // kinds
	worst  time.Duration       // until all was well again
	rest   func(time.Duration) // lets time pass while a fault lasts
}

func newNemesis(c *cluster, l load, much int64, seed uint64) *nemesis {
	return &nemesis{
		c: c, load: l, much: much, rng: rand.New(rand.NewPCG(seed, 0)), lasts: *lasts, harmed: map[*machine]bool{},
		counts: map[string]int{}, drawn: map[string]bool{}, rest: time.Sleep,
	}
}

// kinds are those that can be done here.
func (n *nemesis) kinds() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.apart && n.c.apart == nil })
}

// draw returns the next kind. Each comes as often as any other.
func (n *nemesis) draw() kind {
	if len(n.deck) == 0 {
		n.deck = n.kinds()
		n.rng.Shuffle(len(n.deck), func(i, j int) { n.deck[i], n.deck[j] = n.deck[j], n.deck[i] })
	}
	k := n.deck[0]
	n.deck = n.deck[1:]
	return k
}

// hub returns a hub that is not harmed by itself yet, and server a server.
func (n *nemesis) hub() *machine    { return n.pick(n.c.hubs) }
func (n *nemesis) server() *machine { return n.pick(n.c.servers) }

func (n *nemesis) pick(all []*machine) *machine {
	for {
		if m := all[n.rng.IntN(len(all))]; !n.harmed[m] {
			n.harmed[m] = true
			return m
		}
	}
}

// leader returns the server that leads the stream; nil where none is known, or it is harmed
// already.
func (n *nemesis) leader() *machine {
	m := n.c.leader()
	if m == nil || n.harmed[m] {
		return nil
	}
	n.harmed[m] = true
	return m
}

// strike injects a fault of a kind, or of its substitute, and counts it.
func (n *nemesis) strike(k kind) (what string, heal func()) {
	n.drawn[k.name] = true
	whom, heal := k.strike(n)
	if heal == nil {
		k = serverCut
		whom, heal = k.strike(n)
	}
	n.counts[k.name]++
	return k.name + ": " + whom, heal
}

func kill(m *machine) (string, func()) {
	m.kill()
	return m.name, m.start
}

func pause(m *machine) (string, func()) {
	m.pause()
	return m.name, m.wake
}

// part cuts the ways between a machine and others, both ways.
func (n *nemesis) part(one string, others ...string) (string, func()) {
	n.c.apart.part(one, others...)
	return fmt.Sprintf("%s from %s", one, strings.Join(others, " and ")), n.c.apart.heal
}

// oneWay has a server lose what it sends to the other ones, or what they send to it.
func (n *nemesis) oneWay(s *machine) (string, func()) {
	all := others(n.c.servers, s)
	if n.rng.IntN(2) == 0 {
		n.c.apart.lose(s.name, all...)
		return s.name + " is not heard", n.c.apart.heal
	}
	for _, o := range all {
		n.c.apart.lose(o, s.name)
	}
	return s.name + " hears nothing", n.c.apart.heal
}

// powerOff cuts the power of one server.
func (n *nemesis) powerOff(s *machine) (string, func()) {
	n.losePower([]*machine{s})
	return s.name, func() {
		n.c.apart.restore(s.name)
		s.start()
	}
}

// fill takes all room on the disks of servers. Afterwards they are started again, as an operator
// must: a server that has found no room may use its disk no more.
func (n *nemesis) fill(all ...*machine) (string, func()) {
	names := others(all, nil)
	n.c.apart.fill(names...)
	return strings.Join(names, " and "), func() {
		n.c.apart.free(names...)
		for _, s := range all {
			s.end()
			s.start()
		}
	}
}

// losePower cuts the power of machines, which end. They do not notice, or with -cluster.failing
// their disks fail before: what they say then must be true as well.
func (n *nemesis) losePower(all []*machine) {
	n.c.t.Helper()
	names := others(all, nil)
	n.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if *failing {
		n.c.apart.fail(names...)
		time.Sleep(n.upTo(20 * time.Millisecond))
	} else {
		n.c.apart.freeze(all) // otherwise a process could report a sync that failed: disks.Disk.Cut
	}
	n.c.apart.cut(names...)
	for _, m := range all {
		m.end()
	}
}

func (n *nemesis) upTo(most time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(most)))
}

// harm does so many faults, and so many cuts of the power of all among them.
func (n *nemesis) harm(faults, cuts int) {
	n.c.t.Helper()
	n.more(n.much, backTime)
	when := n.cutsAmong(faults, cuts)
	for left, round := faults, 0; left > 0 || when[round] > 0; round++ {
		for range when[round] {
			n.cutAll()
		}
		if left > 0 {
			left -= n.round(left)
		}
	}
}

// cutsAmong says how many cuts there are before each round.
func (n *nemesis) cutsAmong(faults, cuts int) map[int]int {
	when := map[int]int{}
	for range cuts {
		when[n.rng.IntN(max(faults/2, 1))]++
	}
	return when
}

// round injects one or two faults at once, and waits until all machines work again. It returns the
// number of faults.
func (n *nemesis) round(most int) int {
	n.c.t.Helper()
	n.more(n.much+n.rng.Int64N(n.much), backTime)
	clear(n.harmed)
	drawn := []kind{n.draw()}
	if most > 1 && n.rng.IntN(3) == 0 {
		drawn = append(drawn, n.draw())
	}
	if len(drawn) == 2 && (drawn[0].alone || drawn[1].alone) {
		n.deck, drawn = append(n.deck, drawn[1]), drawn[:1]
	}
	var heals []func()
	var told []string
	for i, k := range drawn {
		if i > 0 {
			n.rest(n.upTo(n.lasts / 2))
		}
		what, heal := n.strike(k)
		told, heals = append(told, what), append(heals, heal)
	}
	from := n.load.Done()
	lasted := shortestFault + n.upTo(n.lasts-shortestFault)
	n.rest(lasted)
	meanwhile := n.load.Done() - from
	n.rng.Shuffle(len(heals), func(i, j int) { heals[i], heals[j] = heals[j], heals[i] })
	for _, heal := range heals {
		heal()
	}
	n.back(fmt.Sprintf("%s, for %.1f s with %d done", strings.Join(told, "; "), lasted.Seconds(), meanwhile))
	return len(drawn)
}

// back waits until all is well again.
func (n *nemesis) back(what string) {
	n.c.t.Helper()
	ready := n.c.ready(backTime)
	took := ready + n.more(n.much, backTime)
	n.worst = max(n.worst, took)
	n.c.t.Logf("%s; ready after %.1f s, %d more done after %.1f s", what, ready.Seconds(), n.much, took.Seconds())
}

// cutAll cuts the power of all machines at once.
func (n *nemesis) cutAll() {
	n.c.t.Helper()
	n.more(n.much+n.rng.Int64N(n.much), backTime)
	n.counts[cutName]++
	n.cutNow()
	n.c.launch(n.c.servers)
	n.c.launch(n.c.hubs)
	n.back(cutName)
	n.c.cut.Store(false)
}

// cutNow cuts the power of all machines, which are not started again.
func (n *nemesis) cutNow() {
	n.c.t.Helper()
	all := append(n.c.servers[:servers:servers], n.c.hubs...)
	n.c.cut.Store(true)
	n.losePower(all)
	n.c.apart.restore(others(all, nil)...)
	n.c.apart.again()
}

// tell prints the number of faults of each kind, and returns their sum.
func (n *nemesis) tell() (sum int) {
	n.c.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(n.counts)) {
		n.c.t.Logf("%4d  %s", n.counts[name], name)
		sum += n.counts[name]
	}
	return sum
}
