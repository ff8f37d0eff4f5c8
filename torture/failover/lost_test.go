package failover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// silence is how long it takes a client to notice that its hub says nothing any more: it waits 2 s,
// and for the answer to a ping as long.
const silence = 4 * time.Second

// TestHubLost kills the hub at which all clients are, and then freezes one: they continue at
// others.
func TestHubLost(t *testing.T) {
	w := newWorld(t)
	t.Run("killed", func(t *testing.T) {
		w.under(t).loseEach(0, 0, func(t *testing.T, victim *place) (lose, back func()) {
			return func() { victim.hub.Kill(t) }, func() { w.start(victim, program) }
		})
	})
	t.Run("silent", func(t *testing.T) {
		w.under(t).loseEach(1, silence, func(t *testing.T, victim *place) (lose, back func()) {
			signal := func(s syscall.Signal) {
				if err := syscall.Kill(victim.hub.Pid(), s); err != nil {
					t.Fatal(err)
				}
			}
			// It wakes up while its clients are elsewhere, with calls that it had not looked at.
			return func() { signal(syscall.SIGSTOP) }, func() { signal(syscall.SIGCONT) }
		})
	})
}

// loseEach loses one hub after the other in one way, beginning with one of them, and says how hard
// the promises were tried by that.
func (w *world) loseEach(first int, more time.Duration, way func(t *testing.T, victim *place) (lose, back func())) {
	w.t.Helper()
	var all verdict
	var slowest time.Duration
	clients := 0
	for round := range *rounds {
		at := w.places[(first+round)%hubs]
		w.t.Run(fmt.Sprint(round+1), func(t *testing.T) {
			v, took, n := w.under(t).lose(fmt.Sprintf("p%d-%d", first, round), at, more, way)
			all.add(v)
			slowest, clients = max(slowest, took), n
		})
	}
	_, name, _ := strings.Cut(w.t.Name(), "/")
	all.kept(w.t, *rounds, fmt.Sprintf("slowest of %d clients of a hub that is %s speaks again after %.1f s at another one", clients, name, slowest.Seconds()))
}

// under returns the world for a part of a test. Hubs that are started there are looked after by the
// whole.
func (w *world) under(t *testing.T) *world {
	v := *w
	v.t = t
	return &v
}

// lose has a party at a hub lose it. It checks that all clients continue, and the log in the end;
// the lost hub returns before that. It returns how long the slowest client was away. On a busy
// machine some clients leave a hub by themselves, so the hub with most of the clients is lost.
func (w *world) lose(
	name string, at *place, more time.Duration, way func(t *testing.T, victim *place) (lose, back func()),
) (v verdict, took time.Duration, clients int) {
	t := w.t
	t.Helper()
	p := w.newParty(name, at)
	p.works(5)
	users := map[string]int{} // by the URL of the hub
	for _, c := range p.clients {
		users[c.URL()]++
	}
	victim := slices.MaxFunc(w.places, func(a, b *place) int { return cmp.Compare(users[a.url], users[b.url]) })
	lose, back := way(t, victim)
	p.leave(victim)
	begun := time.Now()
	lose()
	who, took := p.slowest(begun)
	t.Logf("slowest of %d clients speaks again after %.1f s at another hub (%s)", len(p.clients), took.Seconds(), who)
	late := 0
	if bound := *within + more; *within > 0 && took > bound {
		late++
		t.Errorf("%s has spoken again after %s, expected within %s", who, took, bound)
	}
	back()
	p.works(5)
	p.end()
	v = p.judge()
	v.late = late
	return v, took, len(p.clients)
}
