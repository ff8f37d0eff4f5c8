package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// entrances are several addresses of one hub, each of which can be killed.
type entrances []*proxy

func newEntrances(t *testing.T, h *sdktest.Hub, n int) (all entrances) {
	t.Helper()
	for range n {
		all = append(all, newProxy(t, h.URL))
	}
	return all
}

func (d entrances) urls() string {
	var all []string
	for _, p := range d {
		all = append(all, p.url)
	}
	return strings.Join(all, ",")
}

// at returns the address that a client calls.
func (d entrances) at(c *sdk.Client) *proxy {
	return d[slices.IndexFunc(d, func(p *proxy) bool { return p.url == c.URL() })]
}

// TestFailover: whatever entrance is killed, at any time, writers and readers go on at another, and
// nothing is missing or doubled.
func TestFailover(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	d := newEntrances(t, h, 3)
	kills := 0
	exercise(t, h, d.urls(), 6, 100, 40, func() {
		if kills > 0 {
			d[(kills-1)%len(d)].revive()
		}
		d[kills%len(d)].kill()
		kills++
	})
	if kills < 10 {
		t.Errorf("%d doors were killed, expected at least 10", kills)
	}
}

// TestFailoverInTheMiddle: connections through several doors break after any number of bytes, so
// that requests arrive whose answers do not.
func TestFailoverInTheMiddle(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	d := newEntrances(t, h, 3)
	for i, p := range d {
		p.set(func() { p.after = between(uint64(11+i), 600, 12_000) })
	}
	exercise(t, h, d.urls(), 4, 100, 1_000_000, nil)
	cuts := 0
	for _, p := range d {
		p.set(func() { cuts += p.cuts })
	}
	if cuts < 10 {
		t.Errorf("%d connections were cut, expected at least 10", cuts)
	}
}

// TestStaysWhereItIsGood: when a door comes back its clients stay with the one that took them, also
// over a cut connection.
func TestStaysWhereItIsGood(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	d := newEntrances(t, h, 2)
	c := dial(t, d.urls(), eager(h.Token))
	first := d.at(c)
	first.kill()
	now(t, c)
	second := d.at(c)
	if second == first {
		t.Fatal("the client still calls the door that was killed")
	}
	first.revive()
	for range 3 {
		now(t, c)
	}
	if d.at(c) != second {
		t.Error("the client has left a door that was good")
	}
}

func now(t *testing.T, c *sdk.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.Now(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestSilentHubIsLeft: one that takes connections and says nothing any more is left for another, by
// calls, waits and loops.
func TestSilentHubIsLeft(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	d := newEntrances(t, h, 2)
	id := openConversation(t, h, "a")
	o := eager(h.Token)
	o.PingAfter = 500 * time.Millisecond
	c := dial(t, d.urls(), o)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	waited := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		var seqs []int64
		for e, err := range c.Events(ctx, id, 0) {
			if err != nil {
				waited <- err
				return
			}
			if seqs = append(seqs, e.Seq); len(seqs) == 1 {
				close(started)
			}
		}
		if !slices.Equal(seqs, []int64{1, 2}) {
			waited <- fmt.Errorf("the loop got %v", seqs)
			return
		}
		waited <- nil
	}()
	<-started
	mute := d.at(c)
	mute.muteHub()
	_, err := h.InProcess(t, "a").
		SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: text("bye"),
			Finality: parley.FinalityConversation})
	if err != nil {
		t.Fatal(err)
	}
	now(t, c)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if d.at(c) == mute {
		t.Error("the client still calls the hub that was silent")
	}
}

// TestSomeHubsAreAway: the first connection is made where there is a hub, though one is gone and
// one does not answer.
func TestSomeHubsAreAway(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	d := newEntrances(t, h, 1)
	gone := newEntrances(t, h, 1)
	gone[0].kill()
	hangs, err := net.Listen("tcp", "127.0.0.1:0") // it never accepts the queued connections
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	for range 4 { // the order is another each time
		c := dial(t, strings.Join([]string{gone.urls(), "ws://" + hangs.Addr().String(), d.urls()}, ","), eager(h.Token))
		if c.URL() != d[0].url {
			t.Errorf("the client says that it calls %s, expected %s", c.URL(), d[0].url)
		}
	}
	d[0].kill()
	_, err = sdk.Dial(t.Context(), gone.urls()+","+d.urls(), eager(h.Token))
	if !errors.Is(err, parley.ErrUnavailable) || !strings.Contains(err.Error(), gone[0].url) ||
		!strings.Contains(err.Error(), d[0].url) {
		t.Errorf("without a hub: %v", err)
	}
}

// observed records the claims with which the executor registers.
type observed struct {
	*sdk.Client
	registered chan<- []string
}

func (o observed) RegisterExecutor(
	ctx context.Context, p *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	return func(yield func(parley.ExecutorNotification, error) bool) {
		for n, err := range o.Client.RegisterExecutor(ctx, p, holding) {
			if n.Registered != nil {
				o.registered <- n.Registered.Holding
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// TestFailoverOfAnExecutor: a turn continues at another server under the same claim.
func TestFailoverOfAnExecutor(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	d := newEntrances(t, h, 2)
	id := h.Create(t, "bob", "ann")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o, worked := eager(h.NewToken(t, "bob")), make(chan int, 10)
	doorOf := make(chan *proxy, 1)
	ended := make(chan error, 1)
	registered := make(chan []string, 10)
	attempts := 0
	agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		attempts++
		if _, err := turn.Post(ctx, parley.Message{Text: "I begin"}, parley.FinalityNone); err != nil {
			return "", err
		}
		worked <- attempts
		killed := <-doorOf
		killed.kill()
		if again := <-registered; !slices.Equal(again, []string{turn.ClaimID}) { // the hub knows again who holds it
			return "", fmt.Errorf("registered with the claims %v, expected %s", again, turn.ClaimID)
		}
		_, err := turn.Post(ctx, parley.Message{Text: "and end"}, parley.FinalityTurn)
		return parley.TurnPosted, err
	})
	c := dial(t, d.urls(), o)
	go func() {
		ended <- executors.External(observed{c, registered}, agent, &executors.Options{Agents: []string{"bob"}}).Run(ctx)
	}()
	if first := <-registered; len(first) != 0 {
		t.Fatalf("the first registration holds %v", first)
	}
	<-worked
	doorOf <- d.at(c)
	ann := h.InProcess(t, "ann")
	u, err := ann.GetUpdates(
		t.Context(),
		&parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilMyTurn, TimeoutMs: 20_000},
	)
	if err != nil || u.TimedOut {
		t.Fatalf("the turn did not end: %+v, %v", u, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the executor ended with %v", err)
	}
	if attempts != 1 {
		t.Errorf("%d attempts, expected one", attempts)
	}
	page, err := ann.Tail(t.Context(), &parley.TailParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	claims := 0
	for _, e := range page.Events {
		if e.Type == parley.TypeSystem && strings.Contains(string(e.Payload), "claim") {
			claims++
		}
	}
	if claims != 1 || len(u.Messages) != 2 {
		t.Errorf("%d events of claims, expected the one that took it; messages %v", claims, u.Messages)
	}
}

// dials is a transport that reaches no host and records the attempts. A host in hangs does not
// answer.
type dials struct {
	hangs map[string]bool

	mu    sync.Mutex // guards the field below
	tried []string
}

func (d *dials) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	d.tried = append(d.tried, r.URL.Host)
	d.mu.Unlock()
	if d.hangs[r.URL.Host] {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return nil, errors.New("nobody is there")
}

func (d *dials) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	tried := d.tried
	d.tried = nil
	return tried
}

// TestClientsSpread: each begins anywhere, tries every hub once, and then has had enough.
func TestClientsSpread(t *testing.T) {
	t.Parallel()
	first := map[string]int{}
	d := &dials{}
	for range 300 {
		_, err := sdk.Dial(t.Context(), "ws://a,ws://b,ws://c", &sdk.Options{HTTPClient: &http.Client{Transport: d}})
		if !errors.Is(err, parley.ErrUnavailable) {
			t.Fatal(err)
		}
		tried := d.take()
		first[tried[0]]++
		if slices.Sort(tried); !slices.Equal(tried, []string{"a", "b", "c"}) {
			t.Fatalf("one Dial has tried %v", tried)
		}
	}
	for _, host := range []string{"a", "b", "c"} {
		if first[host] < 50 { // of 100 or so: by chance once in 10^9
			t.Errorf("%d of 300 clients began with %s", first[host], host)
		}
	}
}

// TestPausesGrowWithoutHub: a client without a reachable hub pauses longer after each round, and
// waits longer for slow hubs.
func TestPausesGrowWithoutHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dials{}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		o := &sdk.Options{HTTPClient: &http.Client{Transport: d}}
		if err := sdk.Serve(ctx, "ws://a,ws://b,ws://c", parley.AgentFunc(nil), o, nil); err != nil {
			t.Fatal(err)
		}
		// Pauses go from 100 ms to 5 s, and are half as long by chance, or half as long again: 5 min take
		// 40 to 200 rounds.
		if n := len(d.take()) / 3; n < 40 || n > 200 {
			t.Errorf("%d rounds in 5 minutes", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &dials{hangs: map[string]bool{"a": true, "b": true}}
		begun := time.Now()
		_, err := sdk.Dial(t.Context(), "ws://a,ws://b", &sdk.Options{HTTPClient: &http.Client{Transport: d}})
		if took := time.Since(begun); !errors.Is(err, parley.ErrUnavailable) || took > 10*time.Second {
			t.Errorf("hubs that do not answer: %v after %v", err, took)
		}
		if tried := d.take(); len(tried) != 3 { // each for 2 s, then the first again for the rest of the 10 s
			t.Errorf("tried %v", tried)
		}
	})
}

// TestURLs: what PARLEY_URL may be, and what is wrong with it otherwise.
func TestURLs(t *testing.T) {
	t.Parallel()
	all, err := sdk.URLs(" ws://a , ws://b:1/ ,ws://b:2/x/rpc")
	if want := []string{"ws://a/rpc", "ws://b:1/rpc", "ws://b:2/x/rpc"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("URLs gives %v, %v, expected %v", all, err, want)
	}
	for list, want := range map[string]string{
		"":                            `hub url ""`,
		"ws://a,":                     "hub url 2 of 2 is empty",
		",ws://a":                     "hub url 1 of 2 is empty",
		"ws://a,,ws://b":              "hub url 2 of 3 is empty",
		"ws://a,wss://b":              "hub url 2 of 2 begins with wss:// and the first with ws://",
		"ws://a,ws://b,ws://A:80/rpc": "hub url 3 of 3 is the same as number 1",
		"wss://a,wss://a:443/":        "hub url 2 of 2 is the same as number 1",
		"ws://a,b:7447":               `hub url "b:7447"`,
		"ws://a,ws://":                "it names no host",
		strings.Repeat("ws://a,", 64): "65 addresses, expected at most 64",
	} {
		if _, err := sdk.URLs(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", list, err, want)
		}
		if _, err := sdk.Dial(t.Context(), list, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial %q: %v, expected %q", list, err, want)
		}
	}
	if _, err := sdk.Dial(t.Context(), "ws://a", &sdk.Options{URLs: []string{"ws://b", "ws://a/"}}); err == nil ||
		!strings.Contains(err.Error(), "3 of 3 is the same as number 1") {
		t.Errorf("Options.URLs with one twice: %v", err)
	}
}

// TestRefusedByOneHub: a client that one hub refuses, for example because of the host name, is
// accepted by another. If all hubs that answer refuse it, the error has the reason.
func TestRefusedByOneHub(t *testing.T) {
	t.Parallel()
	h, other := sdktest.NewHub(t), sdktest.NewHub(t) // of another log: it does not know the tokens of h
	token := h.NewToken(t, "a")
	for range 8 {
		if c := dial(t, h.URL+","+other.URL, eager(token)); c.URL() != h.URL {
			t.Fatalf("taken by %s", c.URL())
		}
	}
	gone := newEntrances(t, h, 1)
	gone[0].kill()
	if _, err := sdk.Dial(t.Context(), gone.urls()+","+other.URL, eager(token)); !errors.Is(
		err,
		parley.ErrUnauthenticated,
	) {
		t.Errorf("where nobody takes it: %v", err)
	}
}
