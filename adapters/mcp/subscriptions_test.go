package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// clientLender returns one client to all callers, and counts those in use.
type clientLender struct {
	client parley.Client

	mu   sync.Mutex // guards the fields below
	lent int
	most int
}

func (l *clientLender) connect(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent++
	l.most = max(l.most, l.lent)
	return l.client, sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lent--
	}), nil
}

func (l *clientLender) inUse() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lent
}

// waitInUse waits until want clients are in use.
func (l *clientLender) waitInUse(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(patience); l.inUse() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d clients are in use, expected %d", l.inUse(), want)
		}
	}
}

// A subscriber is notified of changes of a conversation, across a restart of the hub, until it
// unsubscribes. All subscriptions to a conversation share one client of the hub.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := sdktest.NewHub(t)
			id, other := h.Create(t, "bob", "alice"), h.Create(t, "bob", "alice")
			bob := h.Client(t, "bob")
			l := &clientLender{client: h.Client(t, "alice")}
			s := mcp.NewServer(&mcp.Options{Connect: l.connect})
			defer s.Close()
			w := newWire(t, s, era, map[string]any{})
			end, e := w.subscribe(conversations+id, conversations+id+"/events")
			if e != nil {
				t.Fatal(e)
			}
			l.waitInUse(t, 1)
			told := func() {
				t.Helper()
				got := map[string]bool{w.nextUpdate(): true, w.nextUpdate(): true}
				if !got[conversations+id] || !got[conversations+id+"/events"] {
					t.Fatalf("%v", got)
				}
			}
			postAs(t, bob, other, "elsewhere", parley.FinalityTurn)
			postAs(t, bob, id, "hello", parley.FinalityTurn)
			told()
			h.Restart(t)
			postAs(t, h.Client(t, "alice"), id, "hello bob", parley.FinalityTurn)
			told()
			end()
			l.waitInUse(t, 0)
			if again, e := w.subscribe(conversations + id); e != nil {
				t.Errorf("again: %v", e)
			} else {
				again()
			}
			l.waitInUse(t, 0)
		})
	}
}

// Subscribing to a conversation that the caller may not read fails.
func TestForeignSubscription(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id, foreign := h.Create(t, "bob", "alice"), h.Create(t, "bob")
	l := &clientLender{client: h.Client(t, "alice")}
	s := mcp.NewServer(&mcp.Options{Connect: l.connect})
	defer s.Close()
	for _, era := range eras {
		w := newWire(t, s, era, map[string]any{})
		if _, e := w.subscribe(conversations+id, conversations+foreign); e == nil {
			t.Errorf("%s: alice can subscribe to a conversation of bob", era)
		}
		w.close()
		l.waitInUse(t, 0)
	}
}

// The subscriptions of a session or listen end with it.
func TestSubscriptionsEndWithSession(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "alice")
	l := &clientLender{client: h.Client(t, "alice")}
	s := mcp.NewServer(&mcp.Options{Connect: l.connect})
	for _, era := range eras {
		w := newWire(t, s, era, map[string]any{})
		if _, e := w.subscribe(conversations + id); e != nil {
			t.Fatal(e)
		}
		l.waitInUse(t, 1)
		w.close()
		l.waitInUse(t, 0)
	}
	w := newWire(t, s, legacy, map[string]any{})
	if _, e := w.subscribe(conversations + id); e != nil {
		t.Fatal(e)
	}
	s.Close()
	if l.inUse() != 0 {
		t.Error("a client is in use after Close")
	}
	if _, e := w.subscribe(conversations + id + "/events"); e == nil {
		t.Error("a subscription after Close")
	}
}

// A session has a limit of subscriptions, and so has a caller over all its sessions.
func TestTooManySubscriptions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	const ofSession, ofCaller = 64, 256
	h := sdktest.NewHub(t)
	alice := h.Client(t, "alice")
	var ids []string
	for range ofSession + 1 {
		ids = append(ids, conversations+h.Create(t, "alice"))
	}
	for _, era := range eras {
		s := mcp.NewServer(&mcp.Options{Connect: mcp.Client(alice)})
		var ends []func()
		for n := range ofCaller / ofSession {
			w := newWire(t, s, era, map[string]any{})
			if _, e := w.subscribe(ids...); e == nil || e.Code != -32000 {
				t.Errorf("%s, session %d: one more: %v", era, n, e)
			}
			if era < modern { // there the first ones remain
				continue
			}
			end, e := w.subscribe(ids[:ofSession]...)
			if e != nil {
				t.Fatal(e)
			}
			ends = append(ends, end)
		}
		w := newWire(t, s, era, map[string]any{})
		if _, e := w.subscribe(ids[0]); e == nil || e.Code != -32000 {
			t.Errorf("%s: one more of the same caller: %v", era, e)
		}
		for _, end := range ends {
			end()
		}
		if era >= modern {
			if _, e := w.subscribe(ids[0]); e != nil {
				t.Errorf("there is room again: %v", e)
			}
		}
		s.Close()
	}
}

// Listens of one connection to the same resource are independent, and each notification names its
// own.
func TestManyListens(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "alice")
	w := newWire(t, serverOf(t, h, "alice"), modern, map[string]any{})
	endFirst, e := w.subscribe(conversations + id)
	if e != nil {
		t.Fatal(e)
	}
	if _, e = w.subscribe(conversations + id); e != nil {
		t.Fatal(e)
	}
	bob := h.Client(t, "bob")
	ids := func(n int) map[any]bool {
		t.Helper()
		got := map[any]bool{}
		for range n {
			var p struct {
				Meta map[string]any `json:"_meta"`
			}
			if err := json.Unmarshal((<-w.notes).Params, &p); err != nil {
				t.Fatal(err)
			}
			got[p.Meta["io.modelcontextprotocol/subscriptionId"]] = true
		}
		return got
	}
	postAs(t, bob, id, "hello", parley.FinalityNone)
	if got := ids(2); len(got) != 2 || got[nil] {
		t.Errorf("%v", got)
	}
	endFirst()
	postAs(t, bob, id, "hello again", parley.FinalityNone)
	ids(1)
}

// When the token of a subscriber ends, it receives no more notifications and its listen ends. The
// subscription of another caller continues.
func TestSubscriptionEndsWithToken(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			h := sdktest.NewHub(t)
			id := h.Create(t, "bob", "alice", "carol")
			made, err := h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "alice"})
			if err != nil {
				t.Fatal(err)
			}
			callers := map[string]parley.Client{"alice": h.Dial(t, &sdk.Options{Token: made.Token}),
				"carol": h.Client(t, "carol")}
			var l clientLender
			var wires []*wire
			var next parley.Client
			s := mcp.NewServer(&mcp.Options{Connect: func(ctx context.Context, e *protocol.RequestExtra) (parley.Client, func(),
				error) {
				_, release, err := l.connect(ctx, e)
				return next, release, err
			}})
			for _, name := range []string{"alice", "carol"} {
				next = callers[name]
				w := newWire(t, s, era, map[string]any{})
				if _, e := w.subscribe(conversations + id); e != nil {
					t.Fatal(e)
				}
				wires = append(wires, w)
			}
			bob := h.Client(t, "bob")
			postAs(t, bob, id, "hello both", parley.FinalityNone)
			wires[0].nextUpdate()
			wires[1].nextUpdate()
			l.waitInUse(t, 2)
			if _, err := h.Admin(t).RevokeToken(t.Context(), &parley.RevokeTokenParams{TokenID: made.TokenID}); err != nil {
				t.Fatal(err)
			}
			l.waitInUse(t, 1)
			if era >= modern {
				<-wires[0].listened
			}
			for n := range 3 {
				postAs(t, bob, id, fmt.Sprintf("hello carol %d", n), parley.FinalityNone)
				wires[1].nextUpdate()
			}
			if n := len(wires[0].notes); n > 0 {
				t.Errorf("alice received %d notifications after her token ended", n)
			}
			s.Close()
		})
	}
}

// lab is a hub and an adapter in a synctest bubble with its own clock.
type lab struct {
	t          *testing.T
	alice, bob parley.Client
	id         string
	s          *mcp.Server
	// connecting is called before alice receives her client.
	connecting func()
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return newLabWith(t, &mcp.Options{})
}

func newLabWith(t *testing.T, o *mcp.Options) *lab {
	t.Helper()
	journal := memory.New()
	hb, err := hub.Open(journal, &hub.Options{RootToken: "plt_test", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	as := func(id string) parley.Client { return hb.Client(hb.LocalPrincipal(id, parley.DefaultScopes...)) }
	l := &lab{t: t, alice: as("alice"), bob: as("bob"), connecting: func() {}}
	o.Connect = func(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) {
		l.connecting()
		return l.alice, func() {}, nil
	}
	l.s = mcp.NewServer(o)
	t.Cleanup(func() { // the wires ended
		l.s.Close()
		if err := errors.Join(l.alice.Close(), l.bob.Close(), hb.Close(), journal.Close()); err != nil {
			t.Error(err)
		}
	})
	made, err := l.bob.CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "bob", Kind: parley.KindAgent},
			{ID: "alice", Kind: parley.KindAgent}}})
	if err != nil {
		t.Fatal(err)
	}
	l.id = made.ConversationID
	return l
}

// Notifications are at least half a second apart, the last change is sent, and without a change
// nothing is sent.
func TestNotificationRate(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkNotificationRate(t, era) })
		})
	}
}

func checkNotificationRate(t *testing.T, era string) {
	l := newLab(t)
	w := newWire(t, l.s, era, map[string]any{})
	if _, e := w.subscribe(conversations + l.id); e != nil {
		t.Fatal(e)
	}
	var told []time.Time
	pass := func(d time.Duration) {
		time.Sleep(d) // in the bubble
		synctest.Wait()
		for range len(w.notes) {
			<-w.notes
			told = append(told, time.Now())
		}
	}
	if pass(time.Minute); len(told) > 0 {
		t.Errorf("%d notifications, and nothing has changed", len(told))
	}
	told = nil
	var last time.Time
	for range 40 {
		postAs(t, l.bob, l.id, "word", parley.FinalityNone)
		last = time.Now()
		pass(30 * time.Millisecond)
	}
	for range 100 {
		pass(20 * time.Millisecond)
	}
	if n := len(told); n < 3 || n > 4 {
		t.Errorf("%d notifications of 1.2 s of changes", n)
	}
	if n := len(told); n > 0 && told[n-1].Before(last) {
		t.Error("the last change was not sent")
	}
}

// Changes while a listen starts are sent after its acknowledgment.
func TestAcknowledgementIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		calls := 0
		l.connecting = func() {
			if calls++; calls == 2 { // for the second resource: the first one already has a follower
				synctest.Wait()
				postAs(t, l.bob, l.id, "word", parley.FinalityNone)
				time.Sleep(time.Second) // in the bubble
				synctest.Wait()
			}
		}
		w := newWire(t, l.s, modern, map[string]any{})
		if _, e := w.subscribe(conversations+l.id, conversations+l.id+"/events"); e != nil {
			t.Fatal(e)
		}
		if uri := w.nextUpdate(); uri != conversations+l.id {
			t.Errorf("notified of %s", uri)
		}
	})
}
