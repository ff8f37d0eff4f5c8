package network

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

const (
	// goodClients do a thing each goodPace, every goodRedial-th time a new connection.
	goodClients, goodPace, goodRedial = 4, 20 * time.Millisecond, 20
	// goodStuck detects a call that hangs.
	goodStuck = 2 * time.Minute
)

// good is a client that writes and reads at a steady pace, and records the time of each operation.
// It measures from the due time, so that a pause of the hub affects all operations that are due
// meanwhile.
type good struct {
	url, token, conversation string
	done                     *atomic.Int64 // calls of all

	calls, dials []lap
}

// lap is one thing that was due at a time, in this process's own, and how long after that it was
// done.
type lap struct{ due, took time.Duration }

func (g *good) dial() (*hubproc.Caller[struct{}], error) {
	return hubproc.Dial[struct{}](g.url, "", nil, hubproc.CallerOptions{Token: g.token, DialTimeout: goodStuck,
		CallTimeout: goodStuck})
}

// work continues until stop is closed. Anything that is refused is an error.
func (g *good) work(stop <-chan struct{}) error {
	p, err := g.dial()
	if err != nil {
		return err
	}
	defer func() { p.Close() }()
	tick := time.NewTicker(goodPace)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-stop:
			return nil
		case at := <-tick.C:
			due := at.Sub(born)
			if n%goodRedial == 0 {
				next, err := g.dial()
				if err != nil {
					return fmt.Errorf("a new connection: %w", err)
				}
				p.Close()
				p, g.dials = next, append(g.dials, lap{due, time.Since(born) - due})
				continue
			}
			if err := g.call(p, n); err != nil {
				return fmt.Errorf("call %d: %w", n, err)
			}
			g.calls = append(g.calls, lap{due, time.Since(born) - due})
			g.done.Add(1)
		}
	}
}

// call is a durable write or a read, by turns.
func (g *good) call(p *hubproc.Caller[struct{}], n int) error {
	if n%2 == 0 {
		return p.Call(methods.Tail, parley.TailParams{ConversationID: g.conversation, Limit: 10}, &parley.TailResult{})
	}
	payload := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 300))
	return p.Call(methods.SendMessage, parley.SendMessageParams{
		ConversationID: g.conversation, Payload: payload, Finality: parley.FinalityTurn,
		ClientRequestID: fmt.Sprint("good-", n),
	}, &parley.SendResult{})
}

// publicHub is a hub as strangers meet it, with bounds for each token, and what its admin has.
type publicHub struct {
	*hubproc.Hub
	t     *testing.T
	admin *hubproc.Caller[struct{}]
}

func startPublic(t *testing.T) *publicHub {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	token := strings.TrimSpace(program.Run(t, "token", "create", "--admin", "--data", data))
	h := &publicHub{Hub: program.Serve(t, nil, "--data", data), t: t}
	var err error
	if h.admin, err = hubproc.Dial[struct{}](h.URL, "", nil, hubproc.CallerOptions{Token: token}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.admin.Close)
	return h
}

func (h *publicHub) must(method string, params, result any) {
	h.t.Helper()
	if err := h.admin.Call(method, params, result); err != nil {
		h.t.Fatalf("%s: %v", method, err)
	}
}

// invite makes an agent its own conversation and a token.
func (h *publicHub) invite(agent string) (token string) {
	h.t.Helper()
	h.must(methods.CreateConversation, parley.CreateConversationParams{
		ConversationID: "of-" + agent, Participants: []parley.Participant{{ID: agent, Kind: parley.KindPeer}},
		Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	}, nil)
	var r parley.CreateTokenResult
	h.must(methods.CreateToken, parley.CreateTokenParams{AgentID: agent}, &r)
	return r.Token
}

// beside measures good clients with and without something bad at the same hub.
type beside struct {
	t     *testing.T
	goods []*good
	done  atomic.Int64 // calls of theirs

	windows []window
	stop    chan struct{}
	wg      sync.WaitGroup
	failed  chan error
}

func newBeside(t *testing.T, h *publicHub) *beside {
	t.Helper()
	b := &beside{t: t, stop: make(chan struct{}), failed: make(chan error, goodClients)}
	for i := range goodClients {
		agent := fmt.Sprintf("good-%d", i)
		g := &good{url: h.URL, token: h.invite(agent), conversation: "of-" + agent, done: &b.done}
		b.goods = append(b.goods, g)
		b.wg.Go(func() {
			if err := g.work(b.stop); err != nil {
				b.failed <- fmt.Errorf("a good client, %s: %w", agent, err)
			}
		})
	}
	t.Cleanup(func() {
		if b.stop != nil {
			close(b.stop)
		}
		b.wg.Wait()
	})
	return b
}

// pairs measures windows of a length in pairs, the calm one first and last by turns. with calls
// during while there is what is bad, and says when there was enough of that.
func (b *beside) pairs(n int, length time.Duration, with func(during func(isEnough func() bool))) {
	b.t.Helper()
	calm := func() { b.measure(length, false, func() bool { return true }) }
	bad := func() { with(func(isEnough func() bool) { b.measure(length, true, isEnough) }) }
	for pair := range n {
		if pair%2 == 0 {
			calm()
			bad()
		} else {
			bad()
			calm()
		}
	}
	close(b.stop)
	b.stop = nil
	b.wg.Wait()
}

// leastCalls is how many calls the good clients make in a window at least, on however slow a
// machine.
func leastCalls(length time.Duration) int64 { return goodClients * int64(length/goodPace) / 5 }

// measure lets a window pass, and more time until the good clients made their calls and there was
// enough of what is bad.
func (b *beside) measure(length time.Duration, bad bool, isEnough func() bool) {
	b.t.Helper()
	v := window{from: time.Since(born), bad: bad}
	least := b.done.Load() + leastCalls(length)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for passed := time.Duration(0); passed < length || b.done.Load() < least ||
		!isEnough(); passed = time.Since(born) - v.from {
		if passed > length+enoughTime {
			b.t.Fatalf("a window of %s was not enough after %s: the run proves nothing", length, passed)
		}
		select {
		case err := <-b.failed:
			b.t.Fatal(err)
		case <-tick.C:
		}
	}
	v.to = time.Since(born)
	b.windows = append(b.windows, v)
}

// laps returns what was due in a window.
func (b *beside) laps(v window, of func(*good) []lap) quantiles {
	var all []time.Duration
	for _, g := range b.goods {
		for _, l := range of(g) {
			if v.from <= l.due && l.due < v.to {
				all = append(all, l.took)
			}
		}
	}
	return quantilesOf(all)
}

// judge compares the windows. The p99 of calls and the p50 of the few new connections may be at
// most within percent longer next to bad clients. 0 means that the times are only printed. It
// returns the number of comparisons and of violations.
func (b *beside) judge(length time.Duration, within int) (done, violations int, figure string) {
	b.t.Helper()
	select {
	case err := <-b.failed:
		b.t.Error(err)
		violations++
	default:
	}
	for _, c := range []struct {
		what, name string
		of         func(*good) []lap
		quantile   func(quantiles) time.Duration
		least      int64
	}{
		// some of those that were done were due before
		{"calls", "p99", func(g *good) []lap { return g.calls }, func(q quantiles) time.Duration { return q.p99 },
			leastCalls(length) / 2},
		{"new connections", "p50", func(g *good) []lap { return g.dials }, func(q quantiles) time.Duration { return q.p50 },
			leastCalls(length) / goodRedial / 2},
	} {
		var ratios []float64
		for _, pair := range pairsOf(b.windows) {
			calm, bad := b.laps(pair[0], c.of), b.laps(pair[1], c.of)
			b.t.Logf("%s: p50 %s without and %s with, p99 %s and %s (%d and %d)", c.what, calm.p50, bad.p50, calm.p99, bad.p99,
				calm.n, bad.n)
			enough(b.t, c.what+" in a window", min(calm.n, bad.n), int(c.least))
			ratios = append(ratios, float64(c.quantile(bad))/float64(max(c.quantile(calm), 1)))
			done += bad.n
		}
		ratio := median(ratios)
		figure = cmp.Or(figure, fmt.Sprintf("%s x%.2f", c.name, ratio)) // of calls
		b.t.Logf("%s: %s x%.2f", c.what, c.name, ratio)
		if within > 0 && ratio > 1+float64(within)/100 {
			violations++
			b.t.Errorf("%s of %s is %.2f times as long, expected %d%% more at most", c.name, c.what, ratio, within)
		}
	}
	return done, violations, figure
}

// pairsOf returns the windows two by two, the one without what is bad first.
func pairsOf(windows []window) (pairs [][2]window) {
	for two := range slices.Chunk(windows, 2) {
		if len(two) == 2 && two[0].bad {
			two[0], two[1] = two[1], two[0]
		}
		if len(two) == 2 {
			pairs = append(pairs, [2]window(two))
		}
	}
	return pairs
}

// quantilesOf sorts them.
func quantilesOf(all []time.Duration) quantiles {
	slices.Sort(all)
	if len(all) == 0 {
		return quantiles{}
	}
	return quantiles{len(all), all[len(all)/2], all[len(all)*99/100]}
}

// answerOf asks a process for its state.
func answerOf[S any](p *process) (s S) {
	p.t.Helper()
	p.tell(json.RawMessage(`"how is it"`))
	p.hear(slowGone, &s)
	return s
}
