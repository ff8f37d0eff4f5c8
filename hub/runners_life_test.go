package hub_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// agents returns the rows of listAgents, a line each.
func agents(t testing.TB, h *hub.Hub) []string {
	t.Helper()
	synctest.Wait()
	r, err := h.ListAgents(t.Context(), h.LocalPrincipal("ann"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range r.Agents {
		word := a.Name
		if a.RunnerID != "" {
			word += " of " + a.RunnerID
		}
		switch {
		case a.Stale:
			word += " (stale)"
		case !a.Online:
			word += " (away)"
		}
		out = append(out, word)
	}
	return out
}

func agentsAre(t testing.TB, h *hub.Hub, want ...string) {
	t.Helper()
	if got := agents(t, h); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the agents are %q, want %q", got, want)
	}
}

// work is a parent of ann's with three sessions in mode async_callback: one that has been claimed, one that is offered, and one by another runner.
type work struct {
	ann                    *hub.Principal
	parent                 string
	running, pending, safe *parley.Session
	claim                  string
}

func working(t *testing.T, h *hub.Hub, x *host) *work {
	t.Helper()
	other := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "other"})
	other.says(counter("other"))
	w := &work{ann: h.LocalPrincipal("ann")}
	w.parent = create(t, h, w.ann, open2("ann"))
	w.running = start(t, h, w.ann, counts("count", 1, parley.ModeAsyncCallback, w.parent))
	w.claim = x.oneOffer().ClaimID
	x.take(w.running.SessionID, w.claim)
	w.pending = start(t, h, w.ann, counts("count", 2, parley.ModeAsyncCallback, w.parent))
	w.safe = start(t, h, w.ann, counts("other", 3, parley.ModeAsyncCallback, w.parent))
	o := other.oneOffer()
	other.take(o.ConversationID, o.ClaimID)
	return w
}

// lost fails the test unless two sessions of the runner failed as the specification says, the
// parent has their ends, and the third session runs.
func (w *work) lost(t *testing.T, h *hub.Hub, j journal.Journal) {
	t.Helper()
	failsAs(t, h, w.ann, w.running.SessionID, parley.ReasonInterrupted, "Runner disconnected during execution")
	failsAs(t, h, w.ann, w.pending.SessionID, parley.ReasonNoRunner, "No matching runner available within timeout")
	stands(t, h, w.ann, w.safe.SessionID, parley.SessionRunning, "")
	told := map[string]parley.Callback{}
	for _, cs := range callbacks(t, j, w.parent) {
		for _, c := range cs {
			told[c.ChildSessionID] = c
		}
	}
	if c := told[w.running.SessionID]; len(told) != 2 || c.Status != parley.SessionFailed ||
		c.Result.Error != "Runner disconnected during execution" || c.AgentName != "count" {
		t.Fatalf("the parent was told %+v", told)
	}
}

// TestRunnerAway: a runner that is away is stale after 90 s. After 180 s it and its blueprints are
// removed, its sessions fail with the specified text, and all waits for them end.
func TestRunnerAway(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		w := working(t, h, x)
		agentsAre(t, h, "count of box", "other of other")
		pass(time.Hour / 60)
		x.conn.Close()
		agentsAre(t, h, "count of box (away)", "other of other")
		pass(90*time.Second - time.Millisecond)
		agentsAre(t, h, "count of box (away)", "other of other")
		pass(time.Millisecond)
		agentsAre(t, h, "count of box (stale)", "other of other")
		pass(90*time.Second - time.Millisecond)
		stands(t, h, w.ann, w.running.SessionID, parley.SessionRunning, "")
		agentsAre(t, h, "count of box (stale)", "other of other")
		pass(time.Millisecond)
		agentsAre(t, h, "other of other")
		w.lost(t, h, j)
		_, err := h.StartSession(t.Context(), w.ann, counts("count", 1, parley.ModeAsyncPoll, ""))
		refused(t, err, parley.ErrNotFound)
	})
}

// TestRunnerLeaves: one that leaves is gone at once.
func TestRunnerLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		w := working(t, h, x)
		if got := x.says(); len(got) != 0 {
			t.Fatalf("%q", got)
		}
		agentsAre(t, h, "other of other")
		w.lost(t, h, j)
		if err := (<-post(h, x.p, closing(w.running.SessionID, w.claim, parley.OutcomeCompleted,
			ran("late")))).err; err == nil {
			t.Fatal("what it still says is taken")
		}
		x.says() // again: there is nothing to leave
		if log := events(t, j, "~runners"); len(log) != 4 {
			t.Errorf("%d events of runners", len(log))
		}
		if names := x.says(counter("count")); names[0] != "count" {
			t.Errorf("it is back as %q", names)
		}
	})
}

// TestRunnerLeavesAtOnce: calls that do not wait for each other take effect in the order of their
// connection, so a runner that stops while it registers is not listed any more.
func TestRunnerLeavesAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, _ journal.Journal) {
		x := hosts(t, h)
		many := []parley.Blueprint{counter("a"), counter("b"), counter("c"), counter("d")}
		for range 20 {
			answers := make(chan error, 2)
			answer := func(_ parley.RegisterBlueprintsResult, err error) { answers <- err }
			h.RegisterBlueprints(x.p, &parley.RegisterBlueprintsParams{Blueprints: many}, answer)
			h.RegisterBlueprints(x.p, &parley.RegisterBlueprintsParams{}, answer)
			if err := errors.Join(<-answers, <-answers); err != nil {
				t.Fatal(err)
			}
			agentsAre(t, h)
		}
	})
}

// TestRunnerBack: one that is back within its time, with its claims, is as if it had not been away.
func TestRunnerBack(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		w := working(t, h, x)
		log := len(events(t, j, "~runners"))
		for _, away := range []time.Duration{179 * time.Second, 120 * time.Second} {
			x.conn.Close()
			pass(away)
			y := &host{id: "box", runner: &runner{t: t, h: h}}
			y.conn = h.Connect(y.notify, nil)
			y.p = h.LocalPrincipal("ops").On(y.conn)
			got := y.mustRegister(parley.RegisterExecutorParams{
				ExecutorID: "box", Mode: parley.ModePush, Capacity: 1, GraceMs: limits.OfflineMs, Holding: []string{w.claim},
			})
			if len(got.Holding) != 1 || got.Ended != 0 {
				t.Fatalf("%+v", got)
			}
			y.says(counter("count"))
			agentsAre(t, h, "count of box", "other of other")
			x = y
		}
		if n := len(events(t, j, "~runners")); n != log {
			t.Errorf("%d more events: the same was said", n-log)
		}
		x.ends(w.running.SessionID, w.claim, parley.OutcomeCompleted, ran("after all"))
		stands(t, h, w.ann, w.running.SessionID, parley.SessionCompleted, "")
		wantTurns(t, j, w.running.SessionID, "ann:turn", "claimed(box 1)", "count:conversation")
	})
}

// TestOtherBlueprints: a new registration replaces the blueprints. Running sessions continue, and
// unclaimed ones of removed agents fail.
func TestOtherBlueprints(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"), counter("stays"))
		w := working(t, h, x)
		kept := start(t, h, w.ann, counts("stays", 1, parley.ModeAsyncPoll, ""))
		x.says(counter("new"), counter("stays"))
		agentsAre(t, h, "new of box", "other of other", "stays of box")
		failsAs(t, h, w.ann, w.pending.SessionID, parley.ReasonNoRunner, "No matching runner available within timeout")
		stands(t, h, w.ann, w.running.SessionID, parley.SessionRunning, "")
		stands(t, h, w.ann, kept.SessionID, parley.SessionPending, "")
		x.ends(w.running.SessionID, w.claim, parley.OutcomeCompleted, ran("x"))
		stands(t, h, w.ann, w.running.SessionID, parley.SessionCompleted, "")
	})
}

// TestNobodyTakes: a session that no executor claims fails after 180 s, not before. It waits longer
// while its runner is full.
func TestNobodyTakes(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 1})
		b := counter("count")
		b.TimeoutMs = limits.MaxSessionTimeoutMs
		x.says(b)
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		pass(180*time.Second - time.Millisecond) // it is offered again and again
		stands(t, h, ann, id, parley.SessionPending, "")
		pass(time.Millisecond)
		failsAs(t, h, ann, id, parley.ReasonNoRunner, "No matching runner available within timeout")
		x.offered()

		busy := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		claim := x.oneOffer().ClaimID
		x.take(busy, claim)
		waits := start(t, h, ann, counts("count", 2, parley.ModeAsyncPoll, "")).SessionID
		pass(time.Hour)
		x.noOffer()
		stands(t, h, ann, waits, parley.SessionPending, "")
		x.ends(busy, claim, parley.OutcomeCompleted, ran("x"))
		if got := x.works("y"); got != waits {
			t.Fatal(got)
		}
		quiet(t, h)
	})
}

// TestNobodyTakesAnAgent: the same holds for an agent that executors run, for each of its turns; one whose last executor was lost was interrupted.
func TestNobodyTakesAnAgent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		begin := func() string {
			return start(t, h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
				Mode: parley.ModeAsyncPoll}).SessionID
		}
		takes := func(id string, turn int64) string {
			t.Helper()
			w.offered()
			c, err := claimTurn(h, w.p, parley.ClaimTurnParams{ConversationID: id, Turn: turn})
			if err != nil {
				t.Fatal(err)
			}
			return c.ClaimID
		}
		never := begin()
		failed, asked, lost := begin(), begin(), begin()
		if err := release(h, w.p, failed, takes(failed, 2), parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		say(t, h, w.p, under(message(asked, "?", parley.FinalityTurn, ""), takes(asked, 2)))
		say(t, h, ann, message(asked, "!", parley.FinalityTurn, ""))
		takes(lost, 2)
		w.conn.Close()
		pass(180*time.Second - time.Millisecond)
		for _, id := range []string{never, failed, asked, lost} {
			stands(t, h, ann, id, parley.SessionPending, "")
		}
		pass(time.Millisecond)
		for _, id := range []string{never, failed, asked} {
			failsAs(t, h, ann, id, parley.ReasonNoRunner, "No matching runner available within timeout")
		}
		pass(5*time.Second - time.Millisecond) // the grace of its claim
		stands(t, h, ann, lost, parley.SessionPending, "")
		pass(time.Millisecond)
		failsAs(t, h, ann, lost, parley.ReasonInterrupted, "Runner disconnected during execution")
		quiet(t, h)
	})
}

// TestHubRestart: a restart of the hub disturbs no external runner that comes back, whatever it was doing; the time that the hub was down does not count.
func TestHubRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := hosts(t, h, counter("count"))
		w := working(t, h, x)
		pass(100 * time.Second)
		next := crash(t, j)
		pass(time.Hour)
		h = startOn(t, next, counted("y"))
		w.ann = h.LocalPrincipal("ann")
		agentsAre(t, h, "count of box (away)", "other of other (away)")
		// it can be started, and waits
		for _, s := range []*parley.Session{start(t, h, w.ann, counts("count", 9, parley.ModeAsyncPoll, "")), w.pending} {
			stands(t, h, w.ann, s.SessionID, parley.SessionPending, "")
		}
		pass(100 * time.Second)
		stands(t, h, w.ann, w.running.SessionID, parley.SessionRunning, "")
		back := connect(t, h, h.LocalPrincipal("ops"))
		got := back.mustRegister(parley.RegisterExecutorParams{ExecutorID: "box", Mode: parley.ModePush, Capacity: 4,
			GraceMs: limits.OfflineMs, Holding: []string{w.claim}})
		if len(got.Holding) != 1 {
			t.Fatalf("%+v", got)
		}
		if n := len(back.offered()); n != 2 {
			t.Fatalf("%d offers, want those of the two that wait", n)
		}
		say(t, h, back.p, closing(w.running.SessionID, w.claim, parley.OutcomeCompleted, ran("over the restart")))
		stands(t, h, w.ann, w.running.SessionID, parley.SessionCompleted, "")
		wantTurns(t, next, w.running.SessionID, "ann:turn", "claimed(box 1)", "count:conversation")
		pass(80*time.Second - time.Millisecond)
		stands(t, h, w.ann, w.safe.SessionID, parley.SessionRunning, "")
		pass(time.Millisecond)
		failsAs(t, h, w.ann, w.safe.SessionID, parley.ReasonInterrupted, "Runner disconnected during execution")
		agentsAre(t, h, "count of box")
	})
}

// TestHubRestartInside: a command that ran in the hub's own process was begun once; an idempotent one is tried again, three times in all.
func TestHubRestartInside(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		t.Run(fmt.Sprint(idempotent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				b := counter("count")
				b.Idempotent = idempotent
				var id string
				for i := range 4 {
					h := startOn(t, j, counted(fmt.Sprint("h", i)))
					inside := h.Client(h.LocalPrincipal("ops"))
					offers := make(chan parley.RequestTurn, 10)
					registered := make(chan struct{})
					go func() {
						q := &parley.RegisterExecutorParams{ExecutorID: "box", Mode: parley.ModePush, GraceMs: limits.OfflineMs}
						for n := range inside.RegisterExecutor(t.Context(), q, nil) {
							if n.Registered != nil {
								close(registered)
							}
							if n.RequestTurn != nil {
								offers <- *n.RequestTurn
							}
						}
					}()
					<-registered
					if _, err := inside.RegisterBlueprints(t.Context(),
						&parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{b}}); err != nil {
						t.Fatal(err)
					}
					ann := h.LocalPrincipal("ann")
					if i == 0 {
						id = start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
					}
					pass(10 * time.Second)
					if i > 0 && !idempotent || i == limits.IdempotentAttempts {
						failsAs(t, h, ann, id, parley.ReasonInterrupted, "Runner disconnected during execution")
						if len(offers) != 0 {
							t.Fatal("it is offered again")
						}
						return
					}
					o := <-offers
					for len(offers) > 0 {
						o = <-offers
					}
					c, err := inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID})
					if err != nil || c.Attempt != i+1 {
						t.Fatalf("%+v %v", c, err)
					}
					j = crash(t, j)
				}
			})
		})
	}
}
