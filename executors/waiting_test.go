package executors_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// An executor with capacity for one turn runs an agent and the session that it waits for.
func TestSessionOnOneExecutor(t *testing.T) {
	inWorld(t, func(w *world) {
		var at, most atomic.Int64
		agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			at.Add(1)
			defer at.Add(-1)
			most.Store(max(most.Load(), at.Load()))
			if turn.Agent == "sum" {
				return answer(ctx, turn, "42")
			}
			var got []string
			for range 3 {
				s, err := turn.StartSession(ctx, &parley.StartSessionParams{AgentName: "sum"})
				if err != nil {
					return "", err
				}
				got = append(got, string(s.Status)+" "+*s.Result.ResultText)
			}
			_, err := turn.Complete(ctx, parley.Message{Text: strings.Join(got, ", ")},
				parley.Outcome{Status: parley.OutcomeCompleted})
			return parley.TurnComplete, err
		})
		r := w.run(w.client("a"), agent,
			&executors.Options{Agents: []string{"a"}, Blueprints: blueprints("sum"), Capacity: 1})
		synctest.Wait()
		start := time.Now()
		var ids []string
		for range 3 {
			ids = append(ids, w.create(agents("a")))
		}
		for _, id := range ids {
			w.closed(id)
			if got, want := w.texts(id), []string{"completed 42, completed 42, completed 42"}; !slices.Equal(got, want) {
				w.Errorf("said %q, expected %q", got, want)
			}
		}
		if took := time.Since(start); took > time.Second {
			w.Errorf("it took %v", took)
		}
		w.stopped(r)
	})
}

// The state of waiting turns is correct after closed connections and a killed hub: a waiting turn
// uses no capacity, and a continued one does.
func TestWaitingAfterAll(t *testing.T) {
	for name, disturb := range map[string]func(*sdktest.Hub){
		"cut":     func(h *sdktest.Hub) { h.CutConnections() },
		"restart": func(h *sdktest.Hub) { h.Restart(t) },
	} {
		t.Run(name, func(t *testing.T) {
			h := sdktest.NewHub(t)
			waits, goOn, told := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 9)
			agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				switch turn.Agent {
				case "slow":
					waits <- struct{}{}
					select {
					case <-goOn:
					case <-ctx.Done():
					}
					return answer(ctx, turn, "at last")
				case "quick":
					return answer(ctx, turn, "soon")
				}
				s, err := turn.StartSession(ctx, &parley.StartSessionParams{AgentName: "slow"})
				if err != nil {
					return "", err
				}
				_, err = turn.Complete(ctx, parley.Message{Text: *s.Result.ResultText},
					parley.Outcome{Status: parley.OutcomeCompleted})
				return parley.TurnComplete, err
			})
			ctx, stop := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			client := h.Client(t, "a")
			go func() {
				ran <- executors.External(client, agent, &executors.Options{
					Agents: []string{"a"}, Blueprints: blueprints("slow", "quick"), Capacity: 2,
					Registered: func(*parley.RegisterBlueprintsResult) { told <- struct{}{} },
				}).Run(ctx)
			}()
			receive(t, told)
			id := h.Create(t, "a")
			receive(t, waits) // two turns are under way, of which one waits
			disturb(h)
			receive(t, told)
			boss := h.Client(t, "boss")
			if s := startSession(t, boss, "quick", ""); s.Status != parley.SessionCompleted {
				t.Errorf("beside a turn that waits: %+v", s)
			}
			close(goOn)
			u, err := h.Admin(t).GetUpdates(
				ctx, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 30_000})
			if err != nil || u.Status != parley.StatusClosed || len(u.Messages) != 1 || len(u.Withdrawn) != 0 {
				t.Errorf("the conversation: %+v, %v", u, err)
			}
			stop()
			if err := <-ran; err != nil {
				t.Errorf("Run ended with %v", err)
			}
		})
	}
}

// A waiting turn frees its capacity once, until the hub reports that it no longer waits, or the
// executor is registered again without such a report.
func TestWaiting(t *testing.T) {
	inWorld(t, func(w *world) {
		tell, again := make(chan parley.ExecutorNotification), make(chan []string)
		client := &broken{Client: w.client("a"), tell: tell, again: again}
		let := map[string]chan struct{}{}
		var ids []string
		for range 7 {
			id := w.create(agents("a"))
			ids, let[id] = append(ids, id), make(chan struct{})
		}
		var mu sync.Mutex
		under := map[string]string{} // claims by conversation
		r := w.run(client, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			mu.Lock()
			under[turn.ConversationID] = turn.ClaimID
			mu.Unlock()
			<-let[turn.ConversationID]
			mu.Lock()
			delete(under, turn.ConversationID)
			mu.Unlock()
			return talk(1)(ctx, turn)
		}), &executors.Options{Mode: parley.ModePull, Capacity: 1})
		var order []string // the order of their start
		expect := func(what string, n int) {
			w.Helper()
			time.Sleep(3 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				if under[id] != "" && !slices.Contains(order, id) {
					order = append(order, id)
				}
			}
			if len(under) != n {
				w.Fatalf("%s: %d turns are under way, expected %d", what, len(under), n)
			}
		}
		waiting := func(i int, waits bool) {
			mu.Lock()
			claim := under[order[i]]
			mu.Unlock()
			tell <- parley.ExecutorNotification{
				ClaimWaiting: &parley.ClaimWaitingNotification{ConversationID: order[i], ClaimID: claim, Waiting: waits}}
			synctest.Wait() // the notification is handled
		}
		end := func(i int) { close(let[order[i]]) }
		expect("at first", 1)
		waiting(0, true)
		expect("the first waits", 2)
		waiting(0, true)
		expect("the first still waits", 2)
		waiting(0, false)
		end(1)
		expect("the first goes on, and the second has ended", 1)
		end(0)
		expect("the first has ended", 1)
		waiting(2, true)
		expect("the third waits", 2)
		mu.Lock()
		holding := []string{under[order[2]], under[order[3]]}
		mu.Unlock()
		again <- holding
		synctest.Wait() // the registration is handled
		end(3)
		expect("the third does not wait after another registration", 1)
		waiting(2, true)
		expect("the third waits again", 2)
		end(2)
		expect("the third has ended while it seemed to wait", 1)
		end(4)
		expect("the fifth has ended", 1)
		tell <- parley.ExecutorNotification{
			ClaimWaiting: &parley.ClaimWaitingNotification{ConversationID: order[0], ClaimID: "clm_1_other", Waiting: true}}
		expect("a claim of nobody waits", 1)
		end(5)
		expect("the sixth has ended", 1)
		end(6)
		expect("all have ended", 0)
		w.stopped(r)
	})
}
