package sdk

// White-box: pauses between rounds are seen from outside as time only.

import (
	"testing"
	"time"
)

// TestPace: the pause before another hub is short. After all were tried the pauses grow, without a
// connection and also if each connection ends at once. A connection that lasted resets them.
func TestPace(t *testing.T) {
	t.Parallel()
	c := &Client{hubs: newHubs([]string{"ws://a", "ws://b", "ws://c"}), o: (*Options)(nil).withDefaults(3)}
	lose := func(p *pace, stood time.Duration) time.Duration {
		return p.afterLink(&link{url: c.hubs.current()}, stood)
	}

	p, total := c.newPace(), time.Duration(0)
	for range 30 {
		total += lose(p, time.Millisecond)
	}
	// Ten rounds: pauses of 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 and four times 5 s, each by chance half as
	// long at least.
	if total < 10*time.Second || total > 60*time.Second {
		t.Errorf("30 connections that ended at once took %v", total)
	}
	if pause := lose(p, time.Minute); pause > c.o.MinBackoff {
		t.Errorf("the first pause after a connection that stood is %v", pause)
	}

	p, total = c.newPace(), 0
	for range 10 {
		total += p.afterRound()
	}
	if total < 10*time.Second || total > 60*time.Second || p.patience != dialTimeout {
		t.Errorf("10 rounds without a hub took %v, and have a patience of %v in the end", total, p.patience)
	}
}

// TestWhoIsLeft: a hub is left that sends its clients away, does not answer, or does not keep a
// connection; one that has lost one is tried first.
func TestWhoIsLeft(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		lost   func(*link)
		stood  time.Duration
		leaves bool
	}{
		"lost":      {func(*link) {}, time.Minute, false},
		"brief":     {func(*link) {}, time.Second, true},
		"sent away": {func(l *link) { l.comeBack = time.Second }, time.Minute, true},
		"silent":    {func(l *link) { l.gaveUp.Store(true) }, time.Minute, true},
	} {
		c := &Client{hubs: newHubs([]string{"ws://a", "ws://b"}), o: (*Options)(nil).withDefaults(2)}
		l := &link{url: c.hubs.current()}
		way.lost(l)
		pause := c.newPace().afterLink(l, way.stood)
		if left := c.hubs.current() != l.url; left != way.leaves || pause > c.o.MinBackoff {
			t.Errorf("%s: left %v after %v, expected %v at once", name, left, pause, way.leaves)
		}
		c.hubs.leave(l.url) // who learns the same later does not bring it back
		if way.leaves && c.hubs.current() == l.url {
			t.Errorf("%s: the client is back at the hub that it has left", name)
		}
	}
}
