package executors_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// cutOff is a client that can be disconnected. Its calls then wait, like those of a client that
// reconnects.
type cutOff struct {
	*broken
	off   atomic.Bool
	pings atomic.Int64
}

// await waits until the client is connected.
func (c *cutOff) await(ctx context.Context) error {
	for c.off.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (w *world) cutOff(id string) *cutOff {
	c := &cutOff{broken: &broken{Client: w.client(id)}}
	c.now = func(ctx context.Context) (time.Time, error) {
		c.pings.Add(1)
		if err := c.await(ctx); err != nil {
			return time.Time{}, err
		}
		return c.Client.Now(ctx)
	}
	c.release = func(p *parley.ReleaseClaimParams) error {
		if err := c.await(w.Context()); err != nil {
			return err
		}
		return c.Client.ReleaseClaim(w.Context(), p)
	}
	return c
}

// If the hub is unreachable for longer than claims last without contact, the agent's ctx ends, and
// not before. When the hub is back, the claim is released.
func TestUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		o     executors.Options
		grace time.Duration
	}{
		"short":   {executors.Options{GraceMs: 5_000}, 5 * time.Second},
		"GraceMs": {executors.Options{GraceMs: 60_000}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			eachMode(t, func(w *world, mode parley.ExecutorMode) {
				id := w.create(limited(parley.Limits{TurnTimeoutMs: 3_600_000}, "a"))
				client, why := w.cutOff("a"), make(chan error, 1)
				c.o.Mode = mode
				r := w.run(client, script(untilEnd(why)), &c.o)
				w.await(id, kind(parley.KindTurnClaimed))
				time.Sleep(10 * time.Minute) // a working connection is enough
				client.off.Store(true)
				start := time.Now()
				err := <-why
				if !errors.Is(err, parley.ErrClaimLost) ||
					!strings.Contains(err.Error(), "the hub was not reachable for "+c.grace.String()) {
					w.Errorf("the agent's ctx has ended with %v", err)
				}
				if took := time.Since(start); took < c.grace/2 || took > c.grace {
					w.Errorf("the agent was told after %v, expected about %v", took, c.grace)
				}
				client.off.Store(false)
				w.closed(id)
				w.stopped(r)
				w.expect(id, "1 a claimed, attempt 1", "1 ended declined unreachable", "1 a claimed, attempt 2",
					"1 a conversation: done")
				if n, most := client.pings.Load(), int64(10*time.Minute/(c.grace/3))+10; n > most {
					w.Errorf("%d signs of life were asked for, expected at most %d", n, most)
				}
			})
		})
	}
}

// Without a grace period, an agent works on, because its claim may still be active.
func TestUnreachableUnwatched(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(limited(parley.Limits{TurnTimeoutMs: 3_600_000}, "a"))
		client, goOn := w.cutOff("a"), make(chan struct{})
		r := w.run(client, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			<-goOn
			return talk(1)(ctx, turn)
		}), &executors.Options{Mode: mode})
		w.await(id, kind(parley.KindTurnClaimed))
		client.off.Store(true)
		time.Sleep(10 * time.Minute)
		client.off.Store(false)
		close(goOn)
		w.closed(id)
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 a conversation: a 1")
	})
}

// A short interruption has no effect.
func TestAwayForAWhile(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(limited(parley.Limits{TurnTimeoutMs: 3_600_000}, "a"))
		client, goOn := w.cutOff("a"), make(chan struct{})
		r := w.run(client, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			<-goOn
			if ctx.Err() != nil {
				w.Errorf("the agent's ctx has ended with %v", context.Cause(ctx))
			}
			return talk(1)(ctx, turn)
		}), &executors.Options{Mode: mode, GraceMs: 60_000})
		w.await(id, kind(parley.KindTurnClaimed))
		for range 5 {
			client.off.Store(true)
			time.Sleep(35 * time.Second)
			client.off.Store(false)
			time.Sleep(30 * time.Second)
		}
		close(goOn)
		w.closed(id)
		w.stopped(r)
		w.expect(id, "1 a claimed, attempt 1", "1 a conversation: a 1")
	})
}

// A hub that answers renewals gets no other calls.
func TestRenewalIsContact(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(limited(parley.Limits{TurnTimeoutMs: 1000, MaxClaimMs: 3_600_000}, "a"))
		client := w.cutOff("a")
		r := w.run(client, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			time.Sleep(time.Minute)
			return talk(1)(ctx, turn)
		}), nil)
		w.closed(id)
		time.Sleep(time.Hour)
		w.stopped(r)
		if n := client.pings.Load(); n != 0 {
			w.Errorf("%d signs of life were asked for", n)
		}
	})
}

// gate is a TCP proxy that can be closed: its connections end, and new ones get no answer.
type gate struct {
	url string

	mu    sync.Mutex // guards the fields below
	shut  bool
	conns []net.Conn
}

func newGate(t *testing.T, hubURL string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{url: "ws://" + l.Addr().String() + "/rpc"}
	target := strings.TrimSuffix(strings.TrimPrefix(hubURL, "ws://"), "/rpc")
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil || !g.keep(in, out) {
				_ = in.Close()
				continue
			}
			all.Go(func() { carry(in, out) })
			all.Go(func() { carry(out, in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		g.set(true)
		all.Wait()
	})
	return g
}

// carry copies until either end is closed.
func carry(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = from.Close()
	_ = to.Close()
}

func (g *gate) keep(in, out net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		_ = out.Close()
		return false
	}
	g.conns = append(g.conns, in, out)
	return true
}

// set closes or opens the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	if !shut {
		return
	}
	for _, c := range g.conns {
		_ = c.Close()
	}
	g.conns = nil
}

// Over a real socket, the ctx of an agent ends within the grace period after the hub is gone, and
// the turn continues when the hub is back.
func TestUnreachableSocket(t *testing.T) {
	const grace = 3 * time.Second
	h := sdktest.NewHub(t)
	g := newGate(t, h.URL)
	id := h.Create(t, "a")
	c, err := sdk.Dial(t.Context(), g.url, &sdk.Options{Token: h.NewToken(t, "a"), MaxBackoff: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	called, why := make(chan struct{}, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.External(c, script(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			called <- struct{}{}
			return untilEnd(why)(ctx, turn)
		}), &executors.Options{GraceMs: grace.Milliseconds(), MaxBackoff: 50 * time.Millisecond}).Run(ctx)
	}()
	<-called
	g.set(true)
	start := time.Now()
	if err := <-why; !errors.Is(err, parley.ErrClaimLost) {
		t.Errorf("the agent's ctx ended with %v", err)
	}
	if took := time.Since(start); took < grace/2 {
		t.Errorf("the agent's ctx ended after %v, expected at least half of %v", took, grace)
	}
	g.set(false)
	admin := h.Admin(t)
	u, err := admin.GetUpdates(
		ctx, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: parley.MaxWaitMs})
	if err != nil || u.Status != parley.StatusClosed {
		t.Errorf("the conversation: %+v, %v", u, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}
