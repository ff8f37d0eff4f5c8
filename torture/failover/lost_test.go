package failover

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// silence is how long it takes a client to notice that its hub says nothing any more: it waits 2 s, and for the answer to a ping as long.
const silence = 4 * time.Second

// TestHubLost kills the hub at which all clients are, and then freezes one: they go on at others.
func TestHubLost(t *testing.T) {
	w := newWorld(t)
	t.Run("killed", func(t *testing.T) {
		w.under(t).loseEach(0, *within, func(t *testing.T, victim *place) (lose, back func()) {
			return func() { victim.hub.Kill(t) }, func() { w.start(victim, program) }
		})
	})
	t.Run("silent", func(t *testing.T) {
		w.under(t).loseEach(1, *within+silence, func(t *testing.T, victim *place) (lose, back func()) {
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

// loseEach loses one hub after the other in one way, beginning with one of them, and says how hard the promises were tried by that.
func (w *world) loseEach(first int, bound time.Duration, way func(t *testing.T, victim *place) (lose, back func())) {
	w.t.Helper()
	var all verdict
	var slowest time.Duration
	clients := 0
	for round := range *rounds {
		victim := w.places[(first+round)%hubs]
		w.t.Run(fmt.Sprint(round+1), func(t *testing.T) {
			lose, back := way(t, victim)
			v, took, n := w.under(t).lose(fmt.Sprintf("p%d-%d", first, round), victim, bound, lose, back)
			all.add(v)
			slowest, clients = max(slowest, took), n
		})
	}
	_, name, _ := strings.Cut(w.t.Name(), "/")
	all.kept(w.t, *rounds, fmt.Sprintf("slowest of %d clients of a hub that is %s speaks again after %.1f s at another one", clients, name, slowest.Seconds()))
}

// under gives the world for a part of a test. Hubs that are started there are looked after by the whole.
func (w *world) under(t *testing.T) *world {
	v := *w
	v.t = t
	return &v
}

// lose has a party at a hub lose it, and looks at how it goes on, and at what is there in the end. A lost hub comes back before that. It gives how long the slowest of so many clients was away.
func (w *world) lose(name string, victim *place, bound time.Duration, lose, back func()) (v verdict, took time.Duration, clients int) {
	t := w.t
	t.Helper()
	p := w.newParty(name, victim)
	p.works(5)
	elsewhere := 0
	for _, c := range p.clients {
		if c.URL() != victim.url { // its hub did not answer for a moment: a busy machine
			elsewhere++
		}
	}
	if elsewhere > len(p.clients)/2 {
		t.Fatalf("%d of %d clients are not at the hub that is lost: this shows nothing", elsewhere, len(p.clients))
	}
	p.leave(victim)
	begun := time.Now()
	lose()
	who, took := p.slowest(begun)
	t.Logf("slowest of %d clients speaks again after %.1f s at another hub (%s)", len(p.clients), took.Seconds(), who)
	late := 0
	if took > bound {
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
