package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// open makes a conversation in which anybody may speak at any time.
func openConversation(t *testing.T, h *sdktest.Hub, participants ...string) string {
	t.Helper()
	p := &parley.CreateConversationParams{Policy: &parley.Policy{Kind: parley.PolicyOpen}}
	for _, id := range participants {
		p.Participants = append(p.Participants, parley.Participant{ID: id, Kind: parley.KindAgent})
	}
	s, err := h.Admin(t).CreateConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

// patience is how long a test waits for an event that must come. Only a program that hangs takes
// that long.
const patience = 3 * time.Minute

// eager are options that come back at once.
func eager(token string) *sdk.Options {
	return &sdk.Options{Token: token, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond}
}

func dial(t *testing.T, url string, o *sdk.Options) *sdk.Client {
	t.Helper()
	c, err := sdk.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exercise has writers write and one reader read, while disturb is called each time that the reader
// has got so many further events. Nothing may be missing, doubled, or out of order, neither in the
// log nor for the reader.
func exercise(t *testing.T, h *sdktest.Hub, url string, writers, each, every int, disturb func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	names := make([]string, writers)
	for i := range names {
		names[i] = fmt.Sprint("w", i)
	}
	id := openConversation(t, h, names...)
	clients := make([]*sdk.Client, writers)
	for i, name := range names {
		clients[i] = dial(t, h.URL, eager(h.NewToken(t, name)))
		if url != h.URL {
			clients[i] = dialUntil(t, url, eager(h.NewToken(t, name)))
		}
	}
	reader := dialUntil(t, url, eager(h.NewToken(t, "w0")))

	var writing sync.WaitGroup
	defer writing.Wait()
	for i, c := range clients {
		writing.Go(func() {
			for n := range each {
				_, err := c.SendMessage(ctx, &parley.SendMessageParams{
					ConversationID: id, Payload: text(fmt.Sprintf("%s-%d", names[i], n)), Finality: parley.FinalityTurn,
				})
				if err != nil {
					t.Errorf("writer %d, message %d: %v", i, n, err)
					return
				}
			}
		})
	}
	next := map[string]int{}
	seq, total := int64(0), int64(1+writers*each)
	for e, err := range reader.Events(ctx, id, 0) {
		if err != nil {
			t.Fatalf("after %d of %d events: %v", seq, total, err)
		}
		if e.Seq != seq+1 {
			t.Fatalf("event %d follows %d", e.Seq, seq)
		}
		seq = e.Seq
		if e.Type == parley.TypeMessage {
			if want := string(text(fmt.Sprintf("%s-%d", e.From, next[e.From]))); string(e.Payload) != want {
				t.Fatalf("%s says %s, expected %s", e.From, e.Payload, want)
			}
			next[e.From]++
		}
		if seq == total {
			break
		}
		if seq%int64(every) == 0 {
			disturb()
		}
	}
}

// dialUntil dials through a proxy that may cut the attempt.
func dialUntil(t *testing.T, url string, o *sdk.Options) *sdk.Client {
	t.Helper()
	for {
		c, err := sdk.Dial(t.Context(), url, o)
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		if !errors.Is(err, parley.ErrUnavailable) {
			t.Fatal(err)
		}
	}
}

// TestEventsOverRestarts: the hub is killed and started again while writers write and a reader
// reads.
func TestEventsOverRestarts(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	restarts := 0
	exercise(t, h, h.URL, 6, 100, 75, func() {
		restarts++
		h.Restart(t)
	})
	if restarts < 5 {
		t.Errorf("%d restarts, expected at least 5", restarts)
	}
	t.Logf("%d restarts", restarts)
}

// TestEventsOverCutConnections: connections are cut after any number of bytes, in the middle of
// frames.
func TestEventsOverCutConnections(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	p := newProxy(t, h.URL)
	p.set(func() { p.after = between(7, 600, 12_000) })
	exercise(t, h, p.url, 4, 100, 1_000_000, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cuts < 10 {
		t.Errorf("%d connections were cut, expected at least 10", p.cuts)
	}
	t.Logf("%d connections were cut", p.cuts)
}

// TestSlowLoop: a loop that pauses delays no other call of its client, and misses nothing
// afterwards.
func TestSlowLoop(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := openConversation(t, h, "a")
	o := eager(h.NewToken(t, "a"))
	o.Buffer = 8
	c := h.Dial(t, o)
	const n = 300
	seq := int64(0)
	for e, err := range c.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != seq+1 {
			t.Fatalf("event %d follows %d", e.Seq, seq)
		}
		seq = e.Seq
		if seq == 1 || seq == n/2 { // pause until all of these are written, on the same connection
			for range n / 2 {
				_, err := c.SendMessage(
					t.Context(),
					&parley.SendMessageParams{ConversationID: id, Payload: text("x"), Finality: parley.FinalityTurn},
				)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if seq == n+1 {
			break
		}
	}
}

// TestTwoHundredSubscribers: so many loops, and so many waits, on one client, over a restart.
func TestTwoHundredSubscribers(t *testing.T) {
	t.Parallel()
	const subscribers = 200
	h := sdktest.NewHub(t)
	id := openConversation(t, h, "a")
	c := h.Dial(t, eager(h.NewToken(t, "a")))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all, ready sync.WaitGroup
	ready.Add(subscribers)
	for range subscribers {
		all.Go(func() {
			var seqs []int64
			for e, err := range c.Events(ctx, id, 0) {
				if err != nil {
					t.Error(err)
					break
				}
				seqs = append(seqs, e.Seq)
				if len(seqs) == 1 {
					ready.Done()
				}
			}
			if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(seqs, want) {
				t.Errorf("a subscriber got %v, expected %v", seqs, want)
			}
		})
		all.Go(func() {
			u, err := c.GetUpdates(
				ctx,
				&parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 60_000},
			)
			if err != nil || u.Status != parley.StatusClosed {
				t.Errorf("a wait gave %+v, %v", u, err)
			}
		})
	}
	ready.Wait()
	for n := range 4 {
		f := parley.FinalityTurn
		if n == 3 {
			f = parley.FinalityConversation
		}
		_, err := c.SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: text("x"), Finality: f})
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			h.Restart(t)
		}
	}
	all.Wait()
}

// TestCloseEndsEverything: nothing of the client is left when Close has returned.
func TestCloseEndsEverything(t *testing.T) {
	h := sdktest.NewHub(t)
	id := openConversation(t, h, "a")
	token := h.NewToken(t, "a")
	names := []string{"sdk.(*Client)", "sdk.(*link)", "jsonrpc2."}
	before := map[string]int{} // of the clients that the test's own helpers have open
	for _, name := range names {
		before[name] = stacks(name)
	}
	c := h.Dial(t, eager(token))
	var loops, ready sync.WaitGroup
	for range 10 {
		ready.Add(1)
		loops.Go(func() {
			first := true
			for _, err := range c.Events(t.Context(), id, 0) {
				if first {
					first = false
					ready.Done()
				}
				if err != nil && !errors.Is(err, parley.ErrUnavailable) {
					t.Error(err)
				}
			}
		})
		loops.Go(func() {
			ctx, cancel := context.WithTimeout(
				t.Context(),
				time.Millisecond,
			) // only the client waits for its answer
			defer cancel()
			_, _ = c.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 60_000})
		})
	}
	ready.Wait()
	for _, name := range names {
		if stacks(name) == before[name] {
			t.Fatalf("no goroutine of this client is in %s: this test looks for the wrong name", name)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	loops.Wait()
	for _, name := range names[:2] {
		if n := stacks(name); n > before[name] {
			t.Errorf("%d goroutines are in %s after Close, before there were %d", n, name, before[name])
		}
	}
	deadline := time.Now().Add(patience)
	for stacks("jsonrpc2.") > before["jsonrpc2."] { // they have nothing left to do but to return
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are in jsonrpc2 after Close", stacks("jsonrpc2."))
		}
		runtime.Gosched()
	}
}

// stacks counts goroutines that are in a function.
func stacks(name string) (n int) {
	buf := make([]byte, 4<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, name) {
			n++
		}
	}
	return n
}

// TestRefusedToken: a bad token fails at once.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	if _, err := sdk.Dial(t.Context(), h.URL, &sdk.Options{Token: "plt_no_such"}); !errors.Is(
		err,
		parley.ErrUnauthenticated,
	) {
		t.Errorf("a bad token gives %v", err)
	}
	if _, err := sdk.Dial(t.Context(), h.URL, &sdk.Options{Token: h.NewToken(t, "a"), AgentID: "b"}); !errors.Is(
		err,
		parley.ErrForbidden,
	) {
		t.Errorf("another's id gives %v", err)
	}
}

// TestTokenExpires: a token that expires ends the client for good.
func TestTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newMemoryHub(t, nil)
		admin := h.dial(t, "root", "a")
		made, err := admin.CreateConversation(
			t.Context(),
			&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}}},
		)
		if err != nil {
			t.Fatal(err)
		}
		token, err := admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 5000})
		if err != nil {
			t.Fatal(err)
		}
		c := h.dial(t, token.Token, "")
		begin := time.Now()
		var last error
		for _, err := range c.Events(t.Context(), made.ConversationID, 0) {
			last = err
		}
		if took := time.Since(begin); !errors.Is(last, parley.ErrUnauthenticated) || took < 5*time.Second ||
			took > 6*time.Second {
			t.Errorf("a loop ends with %v when the token expires, after %v", last, took)
		}
		if _, err := c.Now(t.Context()); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("a call returns %v after the token has expired", err)
		}
	})
}

// TestNoHub: Dial says so, and says which addresses it takes.
func TestNoHub(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sdk.Dial(t.Context(), "http://"+address, nil); !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("no hub gives %v", err)
	}
	for _, url := range []string{"", "localhost:7447", "tcp://localhost", "ws://", "://"} {
		if _, err := sdk.Dial(t.Context(), url, nil); err == nil || !strings.Contains(err.Error(), "hub url") {
			t.Errorf("url %q gives %v", url, err)
		}
	}
}

// TestDeadHubIsNoticed: a connection on which nothing comes any more is given up, and what was
// under way is done on the next.
func TestDeadHubIsNoticed(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	p := newProxy(t, h.URL)
	o := eager(h.Token)
	o.PingAfter = 250 * time.Millisecond
	c := dial(t, p.url, o)
	p.muteHub()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.Now(ctx); err != nil {
		t.Errorf("a call on a connection that died gives %v", err)
	}
}

// TestDrainIsWaitedOut: while the hub drains and is away, calls and loops wait, and go on when it
// is back.
func TestDrainIsWaitedOut(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := openConversation(t, h, "a")
	c := h.Dial(t, eager(h.NewToken(t, "a")))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waited := make(chan error, 20) // under way when the hub drains: it answers them unavailable, and they are made again
	for range cap(waited) {
		go func() {
			u, err := c.GetUpdates(
				ctx,
				&parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 60_000},
			)
			if err == nil && u.Status != parley.StatusClosed {
				err = fmt.Errorf("a wait gave %+v", u)
			}
			waited <- err
		}()
	}
	loop := make(chan []int64, 1)
	started := make(chan struct{})
	go func() {
		var seqs []int64
		for e, err := range c.Events(ctx, id, 0) {
			if err != nil {
				t.Error(err)
			}
			if seqs = append(seqs, e.Seq); len(seqs) == 1 {
				close(started)
			}
		}
		loop <- seqs
	}()
	<-started
	drained := time.Now()
	h.Drain(t)
	sent := make(chan error, 1)
	go func() {
		_, err := c.SendMessage(
			ctx,
			&parley.SendMessageParams{ConversationID: id, Payload: text("bye"), Finality: parley.FinalityConversation},
		)
		sent <- err
	}()
	h.Restart(t)
	if err := <-sent; err != nil {
		t.Errorf("a message sent while the hub drained: %v", err)
	}
	if took := time.Since(drained); took < 900*time.Millisecond {
		t.Errorf("the client was back after %v, though the hub had said to come back after 1 s", took)
	}
	if seqs := <-loop; !slices.Equal(seqs, []int64{1, 2}) {
		t.Errorf("the loop got %v, expected 1 and 2", seqs)
	}
	for range cap(waited) {
		if err := <-waited; err != nil {
			t.Error(err)
		}
	}
}
