package network

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/promise"
)

var (
	crawlSockets = flag.Int("crawl.sockets", 200, "sockets that say a byte a second or nothing")
	crawlPairs   = flag.Int("crawl.pairs", 1, "pairs of windows, one without and one with them")
	crawlWindow  = flag.Duration("crawl.window", 2*time.Second, "how long a window is")
	crawlWithin  = flag.Int("crawl.within", 0,
		"by how many percent p99 of the good clients may be longer with them; 0: it is only told")
)

// TestSlowSockets: sockets that say a byte a second, or nothing, take nothing from those who call:
// good clients call and connect beside them. The hub ends those that show no token, and those that
// are late with a request.
func TestSlowSockets(t *testing.T) {
	t.Parallel()
	h := startPublic(t)
	b := newBeside(t, h)
	token := h.invite("crawler")
	var ended *crawlState // in the first pair, in which that is waited for
	b.pairs(*crawlPairs, *crawlWindow, func(during func(func() bool)) {
		p := spawn(t, "crawlers", crawlConfig{URL: h.HTTP(), Token: token, N: *crawlSockets})
		p.hear(slowGone, new(crawlState))
		awaitSocketsOf(t, h.Pid(), *crawlSockets*9/10)
		during(func() bool { return true })
		awaitSocketsOf(t, h.Pid(), *crawlSockets*9/10) // those that were ended come again
		if ended == nil {
			s := awaitEnds(t, p, *crawlSockets)
			ended = &s
		}
		p.in.Close() // and it ends
		<-p.ended
	})
	done, violations, figure := b.judge(*crawlWindow, *crawlWithin)
	h.Stop(t)
	t.Logf("good clients did %d things beside %d slow sockets at a time; in the first pair the hub has ended %d that were late with their headers, %d with a body, %d that showed no token, %d in the middle of a message",
		done, *crawlSockets, ended.Ended[crawlHeaders], ended.Ended[crawlBody], ended.Ended[crawlSilent],
		ended.Ended[crawlFrame])
	promise.ID(11).Kept(t, promise.Tried{
		Faults: *crawlSockets * *crawlPairs, Operations: done, Violations: violations,
		Figure: fmt.Sprintf("%s beside %d slow sockets", figure, *crawlSockets),
	})
}

// awaitSocketsOf waits until a process has accepted as many sockets.
func awaitSocketsOf(t *testing.T, pid, least int) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(slowGone); sockets(t, pid) < least; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the hub has %d sockets after %s, expected %d at least: the run proves nothing", sockets(t, pid), slowGone,
				least)
		}
	}
}

// awaitEnds waits until the hub ends as many of each kind as there are, but of those in the middle
// of a message, which may be longer: they have a token, and answer no ping.
func awaitEnds(t *testing.T, p *process, n int) crawlState {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var s crawlState
	for deadline := time.Now().Add(slowGone); time.Now().Before(deadline); <-tick.C {
		s = answerOf[crawlState](p)
		if least := n / crawlKinds; s.Ended[crawlHeaders] >= least && s.Ended[crawlBody] >= least &&
			s.Ended[crawlSilent] >= least {
			return s
		}
	}
	t.Fatalf("after %s the hub has ended %v (late headers, late bodies, no token, half a message) of %d slow sockets",
		slowGone, s.Ended, n)
	return s
}
