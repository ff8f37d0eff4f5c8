package failover

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// silence is how long it takes a client to notice that its hub says nothing any more: it waits 2 s, and for the answer to a ping as long.
const silence = 4 * time.Second

// TestHubLost kills the hub at which all clients are, and then freezes one: they go on at others.
func TestHubLost(t *testing.T) {
	w := newWorld(t)
	for round := range *rounds {
		victim := w.places[round%hubs]
		t.Run(fmt.Sprintf("killed %d", round+1), func(t *testing.T) {
			w.under(t).lose(fmt.Sprintf("k%d", round), victim, *within, func() { victim.hub.Kill(t) }, func() { w.start(victim, program) })
		})
		frozen := w.places[(round+1)%hubs]
		t.Run(fmt.Sprintf("silent %d", round+1), func(t *testing.T) {
			signal := func(s syscall.Signal) {
				if err := syscall.Kill(frozen.hub.Pid(), s); err != nil {
					t.Fatal(err)
				}
			}
			// It wakes up while its clients are elsewhere, with calls that it had not looked at.
			w.under(t).lose(fmt.Sprintf("s%d", round), frozen, *within+silence, func() { signal(syscall.SIGSTOP) }, func() { signal(syscall.SIGCONT) })
		})
	}
}

// under gives the world for a part of a test. Hubs that are started there are looked after by the whole.
func (w *world) under(t *testing.T) *world {
	v := *w
	v.t = t
	return &v
}

// lose has a party at a hub lose it, and looks at how it goes on, and at what is there in the end. A lost hub comes back before that.
func (w *world) lose(name string, victim *place, bound time.Duration, lose, back func()) {
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
	figure := fmt.Sprintf("slowest of %d clients speaks again after %.1f s at another hub (%s)", len(p.clients), took.Seconds(), who)
	t.Log(figure)
	late := 0
	if took > bound {
		late++
		t.Errorf("%s has spoken again after %s, expected within %s", who, took, bound)
	}
	back()
	p.works(5)
	p.end()
	v := p.judge()
	v.late = late
	v.kept(t, 1, figure)
}
