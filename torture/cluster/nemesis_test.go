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
	// backTime bounds how long it takes, once all faults are over, until all hubs are ready and backAppends more appends were acknowledged.
	backTime    = 60 * time.Second
	backAppends = 200
	// between are appends from then on until the next fault, at least; up to twice as many.
	between = 100
)

// kind is a kind of fault.
type kind struct {
	name  string
	apart bool // it needs a network or a disk of the machines' own
	// strike does the harm, and says to whom; heal ends it.
	strike func(n *nemesis) (whom string, heal func())
}

var kinds = []kind{
	{"hub killed", false, func(n *nemesis) (string, func()) { return kill(n.hub()) }},
	{"server killed", false, func(n *nemesis) (string, func()) { return kill(n.server()) }},
	{"hub paused", false, func(n *nemesis) (string, func()) { return pause(n.hub()) }},
	{"server paused", false, func(n *nemesis) (string, func()) { return pause(n.server()) }},
	{"hub cut off from all servers", true, func(n *nemesis) (string, func()) {
		h := n.hub()
		return n.part(h.name, others(n.c.servers, nil)...)
	}},
	{"hub cut off from one server", true, func(n *nemesis) (string, func()) {
		h, s := n.hub(), n.server()
		return n.part(h.name, s.name)
	}},
	{"hub cut off from its clients", true, func(n *nemesis) (string, func()) { return n.part(n.hub().name, clientsName) }},
	{"server cut off from the others", true, func(n *nemesis) (string, func()) {
		s := n.server()
		return n.part(s.name, others(n.c.servers, s)...)
	}},
	{"server cut off one way", true, func(n *nemesis) (string, func()) { return n.oneWay(n.server()) }},
	{"leader cut off from the others", true, func(n *nemesis) (string, func()) {
		s := n.leader()
		return n.part(s.name, others(n.c.servers, s)...)
	}},
	{"server without power", true, func(n *nemesis) (string, func()) { return n.powerOff(n.server()) }},
}

// cutName counts the cuts of the power of all.
const cutName = "all without power"

// nemesis harms a cluster. It belongs to the goroutine of the test.
type nemesis struct {
	c      *cluster
	w      *world
	rng    *rand.Rand
	lasts  time.Duration
	deck   []kind
	harmed map[*machine]bool // for as long as the present faults last
	counts map[string]int
	worst  time.Duration // until all was well again
}

func newNemesis(c *cluster, w *world, seed uint64) *nemesis {
	return &nemesis{c: c, w: w, rng: rand.New(rand.NewPCG(seed, 0)), lasts: *lasts, harmed: map[*machine]bool{}, counts: map[string]int{}}
}

// kinds are those that can be done here.
func (n *nemesis) kinds() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.apart && n.c.apart == nil })
}

// draw gives the next kind. Each comes as often as any other.
func (n *nemesis) draw() kind {
	if len(n.deck) == 0 {
		n.deck = n.kinds()
		n.rng.Shuffle(len(n.deck), func(i, j int) { n.deck[i], n.deck[j] = n.deck[j], n.deck[i] })
	}
	k := n.deck[0]
	n.deck = n.deck[1:]
	return k
}

// hub gives a hub that is not harmed by itself yet, and server a server.
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

// leader gives the server that leads the stream, or any.
func (n *nemesis) leader() *machine {
	m := n.c.leader()
	if m == nil || n.harmed[m] {
		return n.server()
	}
	n.harmed[m] = true
	return m
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
	n.c.apart.cut(s.name)
	time.Sleep(n.upTo(20 * time.Millisecond)) // what it says now must be true as well
	s.end()
	return s.name, func() {
		n.c.apart.restore(s.name)
		s.start()
	}
}

func (n *nemesis) upTo(most time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(most)))
}

// round is one fault, or two at once, and the time until all is well again. It gives how many faults there were.
func (n *nemesis) round(most int) int {
	n.c.t.Helper()
	n.w.more(between+n.rng.Int64N(between), backTime)
	clear(n.harmed)
	struck := 1
	if most > 1 && n.rng.IntN(3) == 0 {
		struck = 2
	}
	var heals []func()
	var told []string
	for i := range struck {
		if i > 0 {
			time.Sleep(n.upTo(n.lasts / 2))
		}
		k := n.draw()
		whom, heal := k.strike(n)
		n.counts[k.name]++
		told, heals = append(told, k.name+": "+whom), append(heals, heal)
	}
	from := n.w.acks.Load()
	lasted := shortestFault + n.upTo(n.lasts-shortestFault)
	time.Sleep(lasted)
	meanwhile := n.w.acks.Load() - from
	n.rng.Shuffle(len(heals), func(i, j int) { heals[i], heals[j] = heals[j], heals[i] })
	for _, heal := range heals {
		heal()
	}
	n.back(fmt.Sprintf("%s, for %.1f s with %d appends", strings.Join(told, "; "), lasted.Seconds(), meanwhile))
	return struck
}

// back waits until all is well again.
func (n *nemesis) back(what string) {
	n.c.t.Helper()
	ready := n.c.ready(backTime)
	took := ready + n.w.more(backAppends, backTime)
	n.worst = max(n.worst, took)
	n.c.t.Logf("%s; ready after %.1f s, %d more appends after %.1f s", what, ready.Seconds(), backAppends, took.Seconds())
}

// cutAll cuts the power of all machines at once.
func (n *nemesis) cutAll() {
	n.c.t.Helper()
	n.w.more(between+n.rng.Int64N(between), backTime)
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
	all := append(others(n.c.servers, nil), others(n.c.hubs, nil)...)
	n.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	n.c.cut.Store(true)
	n.c.apart.cut(all...)
	time.Sleep(n.upTo(20 * time.Millisecond)) // what they say now must be true as well
	for _, m := range append(n.c.servers[:servers:servers], n.c.hubs...) {
		m.end()
	}
	n.c.apart.restore(all...)
	n.c.apart.again()
}

// tell says how many faults of each kind there were, and gives their sum.
func (n *nemesis) tell() (sum int) {
	n.c.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(n.counts)) {
		n.c.t.Logf("%4d  %s", n.counts[name], name)
		sum += n.counts[name]
	}
	return sum
}
