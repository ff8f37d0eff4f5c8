package network

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/netns"
)

var (
	halfOpenClients = flag.Int("halfopen.clients", 10, "peers behind a link that goes down")
	halfOpenWithin  = flag.Duration("halfopen.within", 0,
		"time in which the hub must notice that they are gone (the promise is 30s); 0 only logs it")
)

const (
	// nearAddress is the hub's in its namespace, farAddress that of the peers in theirs.
	nearAddress, farAddress = "10.213.77.1", "10.213.77.2"
	halfOpenPort            = "7447"

	deadQuiet, deadBusy, deadTurns = "quiet", "busy", "turns"
	deadAgent, deadAsker           = "clinic", "ann"
	// deadGraceMs is the grace of a lost executor. deadTurn detects that its turn is not offered to
	// another one, and deadFound that the hub does not notice a peer that is gone.
	deadGraceMs = 1000
	deadTurn    = 2 * time.Minute
	deadFound   = 3 * time.Minute
	// halfOpenHung are peers whose process is stopped while nothing is to be sent: their system still
	// answers, and only they do not.
	halfOpenHung = 2
	// strayGoroutines are those that a hub may have more than before, of the neighbour's.
	strayGoroutines = 8
)

// TestHalfOpen removes the link of peers of every kind, and stops others, so that no byte and no
// end arrives from them. The hub detects this, releases what they held, and offers the turn of
// their executor to another one. It runs with the default settings.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	if hubproc.Shared() {
		promise.Left(t, "the hub is in a network that the servers of a shared log are not in: torture/cluster cuts ways there", 12)
	}
	link := newLink(t)
	h, admin := startNear(t, link)
	near := spawn(t, "neighbour", neighbourConfig{URL: h.URL, HTTP: h.HTTP(), Token: admin}, link.in(link.near)...)
	base := hearState(near, func(s neighbourState) bool { return s.Writes > 0 })
	baseSockets := sockets(t, h.Pid())

	far := spawn(t, "far side", farConfig{URL: h.URL, HTTP: h.HTTP(), Token: admin, N: *halfOpenClients},
		link.in(link.far)...)
	hung := spawn(t, "far side", farConfig{URL: h.URL, HTTP: h.HTTP(), Token: admin, N: halfOpenHung, Silent: true},
		link.in(link.near)...)
	peers := 1 // the executor
	for _, p := range []*process{far, hung} {
		var there farReport
		p.hear(slowGone, &there)
		peers += there.Peers
	}
	near.tell("register") // now that the far executor has the turn
	full := hearState(near, func(s neighbourState) bool { return s.Registered && s.Executors > base.Executors+1 })
	awaitSocketsOf(t, h.Pid(), baseSockets+peers)

	link.down(t)
	hung.signal(syscall.SIGSTOP)
	start := time.Now()
	found := link.awaitGone(t, h, baseSockets)
	near.forget()
	after := hearState(near, func(s neighbourState) bool { return s.isAs(base) || time.Since(start) > found+deadTurn })
	violations := judgeGone(t, base, after)
	t.Logf("%d peers are gone: found after %s (half after %s), sockets %d -> %d -> %d, goroutines %.0f -> %.0f -> %.0f, the turn was taken by another: %v",
		peers, found.Round(100*time.Millisecond), link.half.Round(100*time.Millisecond), baseSockets, peers+1+baseSockets,
		sockets(t, h.Pid()),
		base.Goroutines, full.Goroutines, after.Goroutines, after.Took)
	if *halfOpenWithin > 0 && found > *halfOpenWithin {
		violations++
		t.Errorf("the last was found after %s, expected %s at most", found, *halfOpenWithin)
	}
	h.Stop(t)
	promise.ID(12).Kept(t, promise.Tried{
		Faults: peers, Operations: peers, Violations: violations, Figure: fmt.Sprintf("last of %d found after %.1f s", peers,
			found.Seconds()),
	})
}

// judgeGone says what is left of the peers, and of the executor's claim.
func judgeGone(t *testing.T, base, after neighbourState) (violations int) {
	t.Helper()
	if !after.isAs(base) {
		violations++
		t.Errorf("with the peers gone the hub has %+v; before they came %+v, and there is one executor and its socket more",
			after, base)
	}
	if !after.Took {
		violations++
		t.Errorf("the turn of the executor that is gone was not taken by the other one")
	}
	return violations
}

// isAs reports whether the hub has what it had at base, with the neighbour's executor besides,
// which has the turn.
func (s *neighbourState) isAs(base neighbourState) bool {
	return s.Sockets <= base.Sockets+1 && s.Executors <= base.Executors+1 && s.Streams <= base.Streams &&
		s.Requests <= base.Requests &&
		s.Pending <= base.Pending && s.Goroutines <= base.Goroutines+strayGoroutines && s.Took
}

// hearState returns the next state of the neighbour that is as wished.
func hearState(near *process, wished func(neighbourState) bool) (s neighbourState) {
	near.t.Helper()
	for deadline := time.Now().Add(2 * deadTurn); time.Now().Before(deadline); {
		s = neighbourState{}
		near.hear(slowGone, &s)
		if wished(s) {
			return s
		}
	}
	near.t.Fatalf("the neighbour's hub does not come to what was expected; it has %+v", s)
	return s
}

// link is a pair of network namespaces with a wire between them.
type link struct {
	near, far string
	half      time.Duration // when half of the peers were found
}

// newLink makes them; they go with the test.
func newLink(t *testing.T) *link {
	t.Helper()
	netns.Need(t, 12)
	l := &link{near: netns.NameOf("near", os.Getpid()), far: netns.NameOf("far", os.Getpid())}
	netns.IP(t, "netns", "add", l.near)
	t.Cleanup(func() { exec.Command("ip", "netns", "del", l.near).Run() })
	netns.IP(t, "netns", "add", l.far)
	t.Cleanup(func() { exec.Command("ip", "netns", "del", l.far).Run() })
	netns.IP(t, "-n", l.near, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", l.far)
	for _, side := range []struct{ namespace, device, address string }{{l.near, "near", nearAddress},
		{l.far, "far", farAddress}} {
		netns.IP(t, "-n", side.namespace, "link", "set", "lo", "up")
		netns.IP(t, "-n", side.namespace, "address", "add", side.address+"/24", "dev", side.device)
		netns.IP(t, "-n", side.namespace, "link", "set", side.device, "up")
	}
	return l
}

// in are the words before a command that is to run in a namespace.
func (l *link) in(namespace string) []string { return []string{"ip", "netns", "exec", namespace} }

// down takes the link away on the far side: what the hub sends is lost, and nothing says so.
func (l *link) down(t *testing.T) {
	t.Helper()
	netns.IP(t, "-n", l.far, "link", "set", "far", "down")
}

// awaitGone waits until the hub has no more sockets than so many and the neighbour's executor, and
// returns how long that took.
func (l *link) awaitGone(t *testing.T, h *hubproc.Hub, base int) time.Duration {
	t.Helper()
	start := time.Now()
	all := sockets(t, h.Pid()) - base
	for ; time.Since(start) < deadFound; time.Sleep(50 * time.Millisecond) {
		left := sockets(t, h.Pid()) - base - 1
		if l.half == 0 && left <= all/2 {
			l.half = time.Since(start)
		}
		if left <= 0 {
			return time.Since(start)
		}
	}
	t.Errorf("%s after the link went down the hub has %d sockets of peers that are gone",
		time.Since(start).Round(time.Second), sockets(t, h.Pid())-base-1)
	return time.Since(start)
}

// startNear starts a hub in the near namespace as anybody would run it, except TLS, and returns its
// admin token.
func startNear(t *testing.T, l *link) (*hubproc.Hub, string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	var made struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(program.Run(t, "token", "create", "--admin", "--data", data, "-o", "json")),
		&made); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "parley-near")
	script := fmt.Sprintf("#!/bin/sh\nexec ip netns exec %s %s \"$@\"\n", l.near, program)
	if err := os.WriteFile(inside, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	h := hubproc.Program(inside).Serve(t, nil, "--listen", nearAddress+":"+halfOpenPort, "--insecure-public",
		"--allow-host", nearAddress, "--data", data)
	return h, cmp.Or(made.Token, hubproc.Token)
}
