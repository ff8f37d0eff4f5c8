package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk"
)

// rootToken is that of every hub here.
const rootToken = "plt_root_simulation"

const url = "ws://127.0.0.1/rpc"

// world is one simulation: the hub as it is now, the log, the network and who takes part.
type world struct {
	t     *testing.T
	plan  plan
	bug   bug // that is planted, if any
	net   *network
	ended chan struct{} // closed when no one begins anything new
	// bounded ends what the parties have under way, some time after ended.
	bounded context.Context
	reading context.Context // ends what readers have under way
	parties sync.WaitGroup
	readers sync.WaitGroup
	clients []*sdk.Client
	runs    int
	saved   []byte // a backup of the end
	history

	run *run // of the nemesis and of who comes after it

	mu       sync.Mutex // guards the fields below
	journal  *memory.Journal
	replaced chan struct{} // closed when there is another journal
	rest     chan struct{} // closed at the end of the rest; nil outside of a rest
	broken   int           // how many faults there were
	crashes  int
	made     []string // conversations that come and go
}

// run is a hub from its start to its end.
type run struct {
	hub    *hub.Hub
	server *rpc.Server
	http   *http.Server
	served chan struct{} // closed when http ends
}

func newWorld(t *testing.T, p plan, b bug) *world {
	return &world{
		t: t, plan: p, bug: b, net: &network{}, ended: make(chan struct{}), journal: memory.New(),
		replaced: make(chan struct{}), history: newHistory(),
	}
}

// open starts a hub on the journal.
func (w *world) open() {
	w.runs++
	number := w.runs
	var ids atomic.Int64
	h, err := hub.Open(w.bug.journal(w.journal), &hub.Options{
		RootToken: rootToken, NewID: func(prefix string) string { return fmt.Sprintf("%s%d.%d", prefix, number, ids.Add(1)) },
	})
	if err != nil {
		w.t.Fatalf("seed %d: the hub does not start: %v", w.plan.seed, err)
	}
	r := &run{hub: h, server: rpc.NewServer(h, nil), served: make(chan struct{})}
	r.http = &http.Server{Handler: w.bug.door(r.server)}
	l := w.net.up()
	go func() {
		defer close(r.served)
		_ = r.http.Serve(l) // it always ends with an error
	}()
	w.run = r
}

// crash ends the hub as kill -9 does. Only durable data remain.
func (w *world) crash() {
	w.net.down()
	next := w.journal.Crash()
	if w.bug == notSynced {
		next = forget(next, 3)
	}
	w.run.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.journal = next
	w.crashes++
	close(w.replaced)
	w.replaced = make(chan struct{})
}

// end ends what is left of a hub whose connections and journal are gone.
func (r *run) end() {
	_ = r.http.Close()
	<-r.served
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.server.Shutdown(ctx) // no client is left
	_ = r.hub.Close()
}

// stop ends the hub as SIGTERM would.
func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.run.server.Shutdown(ctx); err != nil {
		w.problem(noPromise, "the hub does not drain: %v", err)
	}
	w.net.down()
	_ = w.run.http.Close()
	<-w.run.served
	if err := w.run.hub.Close(); err != nil {
		w.problem(noPromise, "the hub does not close: %v", err)
	}
}

// client connects as an id, with its own token or, as admin, with the root token.
func (w *world) client(id string) *sdk.Client {
	o := &sdk.Options{
		Token: rootToken, AgentID: id, HTTPClient: &http.Client{Transport: &http.Transport{DialContext: w.net.dial}},
		MinBackoff: 10 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
	}
	if id != "admin" {
		o.Token = w.token(id)
	}
	c, err := sdk.Dial(context.Background(), url, o)
	if err != nil {
		w.t.Fatalf("seed %d: %s cannot connect: %v", w.plan.seed, id, err)
	}
	w.clients = append(w.clients, c)
	return c
}

// token makes one for an id.
func (w *world) token(id string) string {
	r, err := w.clients[0].CreateToken(context.Background(), &parley.CreateTokenParams{AgentID: id})
	if err != nil {
		w.t.Fatalf("seed %d: no token for %s: %v", w.plan.seed, id, err)
	}
	return r.Token
}

func (w *world) random(party string) *rand.Rand { return randomOf(w.plan.seed, party) }

func (w *world) isOver() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// pause waits, and waits longer during a rest. It returns false if no new work may start.
func (w *world) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-w.ended:
		return false
	}
	w.mu.Lock()
	rest := w.rest
	w.mu.Unlock()
	if rest != nil {
		<-rest
	}
	return !w.isOver()
}

// acts pauses as long as a party does between two acts.
func (w *world) acts(r *rand.Rand) bool { return w.pause(between(r, 0, w.plan.pace)) }

// observe notes when events are written.
func (w *world) observe() {
	var at journal.Position
	for {
		w.mu.Lock()
		j, replaced := w.journal, w.replaced
		w.mu.Unlock()
		changed := j.Watch()
		records, err := j.Scan(at, 1000, 8<<20)
		for _, r := range records {
			at = r.Position
			w.wrote(r)
		}
		switch {
		case len(records) > 0:
		case err != nil && w.isOver():
			return
		case err != nil:
			<-replaced
		default:
			<-changed
		}
	}
}
