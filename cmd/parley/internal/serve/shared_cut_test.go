package serve

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/natscluster"
	"github.com/parleyhub/parley/sdk"
)

// said is what a client logs; it does not wait for who reads them.
type said chan string

func (s said) Enabled(context.Context, slog.Level) bool { return true }

func (s said) WithAttrs([]slog.Attr) slog.Handler { return s }

func (s said) WithGroup(string) slog.Handler { return s }

func (s said) Handle(_ context.Context, r slog.Record) error {
	select {
	case s <- r.Message:
	default:
	}
	return nil
}

// until waits for a line.
func (s said) until(t *testing.T, ctx context.Context, want string) {
	t.Helper()
	for {
		select {
		case got := <-s:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("the client has not logged %q", want)
		}
	}
}

// has reports whether a line was logged.
func (s said) has(want string) bool {
	for {
		select {
		case got := <-s:
			if got == want {
				return true
			}
		default:
			return false
		}
	}
}

// hall is a conversation to which one participant writes, by a separate hub, what listeners shall
// receive.
type hall struct {
	t   *testing.T
	ctx context.Context
	by  parley.Client
}

func newHall(t *testing.T, ctx context.Context, at *Server) *hall {
	t.Helper()
	h := &hall{t, ctx, at.Hub.Client(at.Hub.LocalPrincipal("admin", parley.ScopeAdmin))}
	t.Cleanup(func() { _ = h.by.Close() })
	_, err := h.by.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: "hall", Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Participants: []parley.Participant{{ID: "admin", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hall) say() {
	h.t.Helper()
	_, err := h.by.SendMessage(h.ctx,
		&parley.SendMessageParams{ConversationID: "hall", Payload: json.RawMessage(`{"text":"hello"}`),
			Finality: parley.FinalityTurn})
	if err != nil {
		h.t.Fatal(err)
	}
}

// listen returns the seqs of the events that a client receives.
func (h *hall) listen(c *sdk.Client) <-chan int64 {
	seqs := make(chan int64, 100)
	go func() {
		for e, err := range c.Events(h.ctx, "hall", 0) {
			if err != nil {
				return // the test misses what does not come
			}
			seqs <- e.Seq
		}
	}()
	return seqs
}

// waits returns the seqs that a client receives by waiting for changes.
func (h *hall) waits(c *sdk.Client) <-chan int64 {
	seqs := make(chan int64, 100)
	go func() {
		for seq := int64(0); ; {
			r, err := c.WaitForChange(h.ctx,
				&parley.WaitForChangeParams{ConversationID: "hall", SinceSeq: seq, TimeoutMs: 60_000})
			if err != nil {
				return
			}
			if r.LatestSeq > seq {
				seq = r.LatestSeq
				seqs <- seq
			}
		}
	}()
	return seqs
}

// hears waits for a seq. It fails the test if another one comes first.
func hears(t *testing.T, seqs <-chan int64, want int64) {
	t.Helper()
	select {
	case got := <-seqs:
		if got != want {
			t.Fatalf("heard %d, expected %d", got, want)
		}
	case <-time.After(clitest.Patience):
		t.Fatalf("%d was not heard within %s", want, clitest.Patience)
	}
}

// TestListenersLeave: a client that only listens, at a hub without a connection to the servers of
// its log, receives new events from another hub. A client that knows no other hub keeps its
// connection, and receives them once the connection is back.
func TestListenersLeave(t *testing.T) {
	servers, err := natscluster.Start(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	w := newNATSWay(t, servers.Address(0))
	cut, whole, third := startShared(t, servers, w.address), startShared(t, servers, servers.Address(0)),
		startShared(t, servers, servers.Address(0))
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	h := newHall(t, ctx, whole)
	c, waiter := dialAt(t, ctx, cut.URL, whole.URL+","+third.URL), dialAt(t, ctx, cut.URL, whole.URL+","+third.URL)
	told := make(said, 1000)
	alone, err := sdk.Dial(ctx, cut.URL, &sdk.Options{Token: "plt_root_of_this_test", Logger: slog.New(told)})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	heard, changed, late := h.listen(c), h.waits(waiter), h.listen(alone)
	for _, seqs := range []<-chan int64{heard, changed, late} {
		hears(t, seqs, 1)
	}

	w.cut()
	begun := time.Now()
	h.say()
	for _, seqs := range []<-chan int64{heard, changed} {
		hears(t, seqs, 2)
	}
	t.Logf("heard %s after the cut", time.Since(begun).Round(time.Millisecond))
	for _, there := range []*sdk.Client{c, waiter} {
		if there.URL() == cut.URL {
			t.Error("a listener has heard it, and is still at the hub that is cut off: this test shows nothing")
		}
	}
	if len(late) > 0 {
		t.Error("who is at the hub that is cut off has heard it too: this test shows nothing")
	}
	w.mend(t)
	hears(t, late, 2)
	if told.has("connection to the hub lost") {
		t.Error("who knows one hub only has lost its connection to it")
	}
}

// TestListenersStay checks that listeners keep their connection when no other hub can take them,
// and receive new events after the network recovers.
func TestListenersStay(t *testing.T) {
	servers, err := natscluster.Start(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	ways := []*natsWay{newNATSWay(t, servers.Address(0)), newNATSWay(t, servers.Address(0))}
	one, other := startShared(t, servers, ways[0].address), startShared(t, servers, ways[1].address)
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	h := newHall(t, ctx, one)
	told := make(said, 1000)
	c, err := sdk.Dial(ctx, one.URL+","+other.URL, &sdk.Options{Token: "plt_root_of_this_test", Logger: slog.New(told)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := h.listen(c)
	hears(t, heard, 1)

	for _, w := range ways {
		w.cut()
	}
	told.until(t, ctx, "no other hub takes this client yet")
	brief, end := context.WithTimeout(ctx, clitest.Patience)
	defer end()
	if s, err := c.GetConversation(brief, &parley.GetConversationParams{ConversationID: "hall"}); err != nil ||
		s.LatestSeq != 1 {
		t.Errorf("what the hub has cannot be read: %+v, %v", s, err)
	}
	for _, w := range ways {
		w.mend(t)
	}
	for _, s := range []*Server{one, other} {
		s.until(t, 200)
	}
	h.say()
	hears(t, heard, 2)
}

// TestExecutorAtTwoSharedHubs: a connection whose executor registers at another hub ends as it
// would if that were the same hub.
func TestExecutorAtTwoSharedHubs(t *testing.T) {
	servers, err := natscluster.Start(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	var ends []<-chan error
	for range 2 {
		s := startShared(t, servers, servers.Address(0))
		c, err := sdk.Dial(ctx, s.URL, &sdk.Options{Token: "plt_root_of_this_test", AgentID: "bob"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		registered, ended := make(chan struct{}, 1), make(chan error, 1)
		go func() {
			for n, err := range c.RegisterExecutor(ctx, &parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{"bob"}},
				nil) {
				if err != nil {
					ended <- err
					return
				}
				if n.Registered != nil {
					registered <- struct{}{}
				}
			}
		}()
		select {
		case <-registered:
		case err := <-ended:
			t.Fatal(err)
		}
		ends = append(ends, ended)
	}
	if err := <-ends[0]; !errors.Is(err, parley.ErrAlreadyExists) {
		t.Errorf("the older one ends with %v", err)
	}
	select {
	case err := <-ends[1]:
		t.Errorf("the newer one ends with %v", err)
	default:
	}
}
