package network

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/internal/wire"
)

var (
	stormClients = flag.Int("storm.clients", 300, "subscribers that come back after a restart")
	stormRounds  = flag.Int("storm.rounds", 2, "restarts of the hub, by turns after kill -9 and after SIGTERM")
	stormWithin  = flag.Duration("storm.within", 0,
		"how long all of them may take from the signal until they have caught up; 0: it is only told")
)

const (
	// ofOneCrowd is how many subscribers a process has, at most, and ofOneRoom how many a conversation
	// has.
	ofOneCrowd, ofOneRoom = 1250, 100
	// stormWriters say a message each stormPace.
	stormWriters, stormPace = 4, 100 * time.Millisecond
	// stormBack is how long all may take to come back, whatever the machine.
	stormBack = 3 * time.Minute
	// stormLoad is how many messages are acknowledged between two restarts.
	stormLoad = 40
	// stormWitnesses are sockets that are held to what a hub that stops says.
	stormWitnesses = 8
)

// TestRestartStorm kills and stops a hub under many subscribers. All come back by themselves, and
// none has missed an event or had one twice.
func TestRestartStorm(t *testing.T) {
	t.Parallel()
	dir, addr := t.TempDir(), hubproc.LowAddress(t)
	h := program.Start(t, dir, "--listen", addr)
	ids, ws := createRooms(t, h)
	crowds := gather(t, h, ids)
	office := employ(t, h.URL, ws)
	kills, stops, untold := 0, 0, 0
	var slowest time.Duration
	for round := 1; round <= *stormRounds; round++ {
		load(t, office)
		start := time.Now()
		if round%2 == 1 {
			h.Kill(t)
			kills++
		} else {
			untold += stopBeforeWitnesses(t, h, ids)
			stops++
		}
		stopped := time.Since(start)
		h = program.Start(t, dir, "--listen", addr)
		began := time.Since(start)
		callUp(t, h.URL, ids, round)
		for _, c := range crowds {
			var back roundReport
			c.hear(stormBack, &back)
			if back.Round != round || back.Back != c.n {
				t.Fatalf("a crowd of %d said %+v in round %d", c.n, back, round)
			}
		}
		took := time.Since(start)
		slowest = max(slowest, took)
		t.Logf("round %d: the hub was down after %s and takes calls after %s; all %d are back and have caught up after %s",
			round, stopped.Round(time.Millisecond), began.Round(time.Millisecond), *stormClients, took.Round(time.Millisecond))
	}
	office.rest()
	callUp(t, h.URL, ids, *stormRounds+1)
	logs := readLogs(t, h.URL, ids)
	events, violations := compareCrowds(t, crowds, logs)
	acked := office.audit(logs)
	h.Stop(t)

	t.Logf("%d subscribers in %d processes had %d events over %d kills and %d SIGTERMs; slowest return %s; %d messages acknowledged, %d attempts with an unknown outcome",
		*stormClients, len(crowds), events, kills, stops, slowest.Round(time.Millisecond), acked, office.unknown())
	if *stormWithin > 0 && slowest > *stormWithin {
		t.Errorf("all were back after %s, expected %s at most", slowest, *stormWithin)
	}
	enough(t, "kills", kills, 1)
	enough(t, "SIGTERMs", stops, 1)
	enough(t, "messages", acked, stormLoad**stormRounds)
	figure := fmt.Sprintf("%d clients back after %.1f s", *stormClients, slowest.Seconds())
	promise.ID(9).Kept(t, promise.Tried{Faults: kills + stops, Operations: events, Violations: violations, Figure: figure})
	promise.ID(18).Kept(t, promise.Tried{Faults: stops, Operations: acked, Unknown: office.unknown(),
		Violations: violations + untold})
}

// createRooms makes the conversations, and the writers that speak in some of them.
func createRooms(t *testing.T, h *hubproc.Hub) (ids []string, ws []*writer) {
	t.Helper()
	for i := range max(*stormClients/ofOneRoom, 1) {
		id, speaker := fmt.Sprintf("room-%d", i), fmt.Sprintf("w%d", i)
		create(t, h.URL, id, speaker, crier)
		ids = append(ids, id)
		if i < stormWriters {
			ws = append(ws, &writer{id: speaker, conversation: id, size: 300, pace: stormPace})
		}
	}
	return ids, ws
}

// load waits until so many messages more are acknowledged.
func load(t *testing.T, o *office) {
	t.Helper()
	want := o.written.Load() + stormLoad
	for deadline := time.Now().Add(stubborn); o.written.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %d messages within %s: the run proves nothing", stormLoad, stubborn)
		}
	}
}

// crier says in each conversation which round it is.
const crier = "crier"

func cry(round int) string { return fmt.Sprintf("round %d", round) }

// callUp posts the number of the round in each conversation. A reader that receives it has caught
// up.
func callUp(t *testing.T, url string, ids []string, round int) {
	t.Helper()
	p, err := dial(url, crier, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, id := range ids {
		payload, err := json.Marshal(parley.Message{Text: cry(round)})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Call(methods.SendMessage, parley.SendMessageParams{ConversationID: id, Payload: payload, Finality: parley.FinalityTurn, ClientRequestID: fmt.Sprintf("%s-%d", crier, round-1)}, nil)
		if err != nil {
			t.Fatalf("%s, round %d: %v", id, round, err)
		}
	}
}

// crowd is a process of subscribers.
type crowd struct {
	*process
	n int
}

// gather starts the subscribers and waits until all are there.
func gather(t *testing.T, h *hubproc.Hub, ids []string) (all []crowd) {
	t.Helper()
	processes := (*stormClients + ofOneCrowd - 1) / ofOneCrowd
	first := 0
	for i := range max(processes, 2) {
		next := *stormClients * (i + 1) / max(processes, 2)
		c := crowdConfig{URL: h.URL, First: first, N: next - first, Rooms: ids}
		all = append(all, crowd{spawn(t, "crowd", c), c.N})
		first = next
	}
	for _, c := range all {
		var there roundReport
		c.hear(stormBack, &there)
		if there.Back != c.n {
			t.Fatalf("of a crowd of %d there are %d", c.n, there.Back)
		}
	}
	return all
}

// compareCrowds waits until each subscriber has all, and holds it to the log.
func compareCrowds(t *testing.T, crowds []crowd, logs map[string]*record) (events, violations int) {
	t.Helper()
	for _, c := range crowds {
		var back roundReport
		c.hear(stormBack, &back)
		c.in.Close() // the end of stdin requests their histories
		for range c.n {
			var s seen
			c.hear(stormBack, &s)
			d := logs[s.Conversation].differs(s)
			if d == "" && s.Seq != logs[s.Conversation].last() {
				d = fmt.Sprintf("it has %d of %d events", s.Seq, logs[s.Conversation].last())
			}
			if d != "" {
				violations++
				t.Errorf("a subscriber of %s: %s", s.Conversation, d)
			}
			events += int(s.Seq)
		}
	}
	return events, violations
}

// stopBeforeWitnesses stops the hub by SIGTERM. Each witness must receive the error unavailable for
// its wait, the notification closing, and the close code of a stopping hub. It returns the number
// of witnesses that did not.
func stopBeforeWitnesses(t *testing.T, h *hubproc.Hub, ids []string) (untold int) {
	t.Helper()
	found := make(chan error, stormWitnesses)
	var ready sync.WaitGroup
	for i := range stormWitnesses {
		ready.Add(1)
		once := sync.OnceFunc(ready.Done)
		go func() {
			err := witness(h.URL, ids[i%len(ids)], once)
			once()
			found <- err
		}()
	}
	ready.Wait()
	h.Stop(t)
	for range stormWitnesses {
		if err := <-found; err != nil {
			untold++
			t.Errorf("a hub that was told to stop: %v", err)
		}
	}
	return untold
}

// witness waits for an event that does not arrive before the hub stops, and reports missing signals
// of the stop.
func witness(url, room string, ready func()) error {
	p, err := dial(url, "witness", nil)
	if err != nil {
		return err
	}
	defer p.Close()
	late := time.AfterFunc(stormBack, p.Close)
	defer late.Stop()
	var snap parley.Snapshot
	if err := p.Call(methods.GetConversation, parley.GetConversationParams{ConversationID: room, Limit: 1},
		&snap); err != nil {
		return err
	}
	err = p.Ask(methods.GetUpdates, parley.GetUpdatesParams{ConversationID: room, SinceSeq: snap.LatestSeq, TimeoutMs: parley.MaxWaitMs, Until: parley.UntilClosed})
	if err != nil {
		return err
	}
	if err := p.Call(methods.Ping, struct{}{}, nil); err != nil { // earlier calls are in progress
		return err
	}
	ready()
	answered, told := false, false
	for {
		r, err := p.Read()
		if err != nil {
			break
		}
		told = told || r.Method == methods.NotifyClosing
		answered = answered || r.Error != nil && errors.Is(parley.FromWire(*r.Error), parley.ErrUnavailable)
	}
	if code := wire.CloseCode(p.Ended); !answered || !told || code != wire.CloseGoingAway {
		return fmt.Errorf("the wait was answered %v, closing came %v, close code %d (%w)", answered, told, code, p.Ended)
	}
	return nil
}
