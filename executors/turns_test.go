package executors_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

// modes are both ways to find turns.
var modes = []parley.ExecutorMode{parley.ModePush, parley.ModePull}

// eachMode runs a test for push and pull, each in a new world.
func eachMode(t *testing.T, test func(w *world, mode parley.ExecutorMode)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { inWorld(t, func(w *world) { test(w, mode) }) })
	}
}

// An agent leaves the same log in both modes.
func TestPushAndPullSayTheSame(t *testing.T) {
	flaky := func() parley.Agent {
		return script(
			func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, "one")
			},
			func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				if err := say(ctx, turn, parley.FinalityNone, "half"); err != nil {
					return "", err
				}
				return "", fmt.Errorf("attempt %d fails", turn.Attempt)
			},
			func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				return parley.TurnYield, say(ctx, turn, parley.FinalityNone, "this much")
			},
		)
	}
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		id := w.create(agents("a", "b"))
		all := []*running{
			w.run(w.client("a"), flaky(), &executors.Options{Mode: mode}),
			w.run(w.client("b"), talk(0), &executors.Options{Mode: mode}),
		}
		w.closed(id)
		w.stopped(all...)
		w.expect(id,
			"1 a claimed, attempt 1", "1 a turn: one",
			"2 b claimed, attempt 1", "2 b turn: b 2",
			"3 a claimed, attempt 1", "3 a none: half", `3 a trace {"kind":"error","text":"attempt 1 fails"}`,
			"3 ended failed error",
			"3 a claimed, attempt 2", "3 a none: this much", "3 ended yielded", "3 a yielded",
			"4 b claimed, attempt 1", "4 b turn: b 4",
			"5 a claimed, attempt 1", "5 a conversation: done",
		)
	})
}

// The same agent runs in several processes, and each turn is claimed once.
func TestReplicas(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		var ids []string
		for range 10 {
			ids = append(ids, w.create(agents("a", "b")))
		}
		var all []*running
		for range 3 {
			for _, name := range []string{"a", "b"} {
				all = append(all, w.run(w.client(name), talk(6), &executors.Options{Mode: mode}))
			}
		}
		for _, id := range ids {
			w.closed(id)
			if got, want := w.texts(id), []string{"a 1", "b 2", "a 3", "b 4", "a 5", "b 6"}; !slices.Equal(got, want) {
				w.Errorf("said %q, expected %q", got, want)
			}
			if n := w.count(id, "claimed"); n != 6 {
				w.Errorf("%d claims for 6 turns", n)
			}
		}
		w.stopped(all...)
	})
}

// Agents inside the hub talk until an expression is true or a limit is reached.
func TestInternalAgentsUntilTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		limits parley.Limits
		want   parley.Outcome
		turns  int64
	}{
		"stopWhen": {parley.Limits{StopWhen: `last.text == "b 8"`},
			parley.Outcome{Status: parley.OutcomeCompleted, Reason: parley.ReasonStopWhen}, 8},
		"maxTurns": {parley.Limits{MaxTurns: 5},
			parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonMaxTurns}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				id := w.create(limited(c.limits, "a", "b"))
				var all []*running
				for _, name := range []string{"a", "b"} {
					all = append(all, w.run(w.client(name), talk(0), nil))
				}
				s := w.closed(id)
				w.stopped(all...)
				if s.Outcome == nil || *s.Outcome != c.want {
					w.Errorf("the outcome is %+v, expected %+v", s.Outcome, c.want)
				}
				if n := w.count(id, "turn: "); int64(n) != c.turns {
					w.Errorf("%d turns, expected %d", n, c.turns)
				}
			})
		})
	}
}

// Three agents all get to speak, and none answers itself. An agent without an answer is called once
// for each message.
func TestWhereAnyoneMaySpeak(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		p := limited(parley.Limits{MaxTurns: 12}, "a", "b", "c")
		p.Policy, p.StartsWith = &parley.Policy{Kind: parley.PolicyOpen}, "a"
		id := w.create(p)
		var mu sync.Mutex
		spoken := map[string]int{}
		fair := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			mu.Lock()
			spoken[turn.AgentID]++
			many := spoken[turn.AgentID] > 2
			mu.Unlock()
			if many {
				return parley.TurnNoAction, nil
			}
			return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, "from "+turn.AgentID)
		})
		var all []*running
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, w.run(w.client(name), fair, &executors.Options{Mode: mode}))
		}
		time.Sleep(time.Hour)
		w.stopped(all...)
		log := w.log(id)
		last, passed := "", map[string]bool{} // the last speaker, and the agents that passed since
		times := map[string]int{}
		for _, l := range log {
			_, said, isMessage := strings.Cut(l, " turn: from ")
			_, rest, _ := strings.Cut(l, " ")
			who, isPass := strings.CutSuffix(rest, " yielded")
			switch {
			case isMessage && said == last:
				w.Errorf("%s answers itself", said)
			case isMessage:
				last, passed = said, map[string]bool{}
				times[said]++
			case isPass && who != "ended" && passed[who]:
				w.Errorf("%s is asked twice for the same message", who)
			case isPass && who != "ended":
				passed[who] = true
			}
		}
		for _, name := range []string{"a", "b", "c"} {
			if times[name] < 1 || times[name] > 2 {
				w.Errorf("%s has spoken %d times, expected once or twice", name, times[name])
			}
		}
		if len(passed) < 2 {
			w.Errorf("only %v have passed in the end", passed)
		}
		if w.Failed() {
			w.Log(strings.Join(log, "\n"))
		}
	})
}

// If any participant may speak, an agent answers each message of a person once.
func TestOneAnswer(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		p := agents("a")
		p.Policy = &parley.Policy{Kind: parley.PolicyOpen}
		p.Participants = append(p.Participants, parley.Participant{ID: "ann", Kind: parley.KindHuman})
		p.StartsWith = "ann"
		id := w.create(p)
		r := w.run(w.client("a"), talk(0), &executors.Options{Mode: mode})
		ann := w.client("ann")
		for range 3 {
			if _, err := ann.SendMessage(w.Context(), &parley.SendMessageParams{
				ConversationID: id, Payload: []byte(`{"text":"?"}`), Finality: parley.FinalityTurn,
			}); err != nil {
				w.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		w.stopped(r)
		if got, want := w.texts(id), []string{"?", "a 2", "?", "a 4", "?", "a 6"}; !slices.Equal(got, want) {
			w.Errorf("said %q, expected %q", got, want)
		}
	})
}

// No more turns run concurrently than configured, and all of them run.
func TestCapacity(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		var ids []string
		for range 9 {
			ids = append(ids, w.create(agents("a")))
		}
		var mu sync.Mutex
		now, most := 0, 0
		add := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			now += n
			most = max(most, now)
		}
		slow := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			add(1)
			defer add(-1)
			time.Sleep(time.Second)
			return talk(1)(ctx, turn)
		})
		r := w.run(w.client("a"), slow, &executors.Options{Mode: mode, Capacity: 3})
		for _, id := range ids {
			w.closed(id)
		}
		w.stopped(r)
		if most != 3 {
			w.Errorf("%d turns at once, expected 3", most)
		}
	})
}

// One process serves several names, each in its seat and as the participant of that seat.
func TestSeveralAgents(t *testing.T) {
	inWorld(t, func(w *world) {
		p := agents("nurse", "doctor")
		p.Participants[0].Agent, p.Participants[1].Agent = "triage", "advice"
		id := w.create(p)
		seen := map[string]string{}
		both := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			if turn.Number > 1 { // reads as the participant
				u, err := turn.Updates(ctx)
				if err != nil || len(u.Messages) == 0 {
					return "", fmt.Errorf("read %+v: %w", u, err)
				}
			}
			seen[turn.AgentID] = turn.Agent
			return talk(4)(ctx, turn)
		})
		runner := w.hub.Client(w.hub.LocalPrincipal("admin", parley.ScopeAdmin))
		w.Cleanup(func() { _ = runner.Close() })
		r := w.run(runner, both, &executors.Options{Agents: []string{"triage", "advice"}})
		w.closed(id)
		w.stopped(r)
		if got, want := w.texts(id), []string{"nurse 1", "doctor 2", "nurse 3", "doctor 4"}; !slices.Equal(got, want) {
			w.Errorf("said %q, expected %q", got, want)
		}
		if seen["nurse"] != "triage" || seen["doctor"] != "advice" {
			w.Errorf("the agents were called as %v", seen)
		}
	})
}

// Accept leaves conversations to other executors.
func TestAccept(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		no, yes := w.create(agents("a")), w.create(agents("a"))
		r := w.run(w.client("a"), talk(1), &executors.Options{Mode: mode, Accept: func(id string) bool { return id == yes }})
		w.closed(yes)
		time.Sleep(10 * time.Second)
		w.stopped(r)
		if n := w.count(no, "claimed"); n != 0 {
			w.Errorf("%d claims where it was not accepted", n)
		}
	})
}

// A conversation after more than a page of idle ones is served.
func TestPullPages(t *testing.T) {
	inWorld(t, func(w *world) {
		var last string
		for n := range 105 {
			p := &parley.CreateConversationParams{
				Participants: []parley.Participant{{ID: "b", Kind: parley.KindHuman}, {ID: "a", Kind: parley.KindAgent}}}
			if n == 104 {
				p.StartsWith = "a"
			}
			last = w.create(p)
		}
		r := w.run(w.client("a"), talk(1), &executors.Options{Mode: parley.ModePull})
		w.closed(last)
		w.stopped(r)
	})
}

// Run finds new conversations and new seats.
func TestLateConversations(t *testing.T) {
	eachMode(t, func(w *world, mode parley.ExecutorMode) {
		early := w.create(agents("b"))
		r := w.run(w.client("a"), talk(1), &executors.Options{Mode: mode})
		time.Sleep(5 * time.Second)
		w.closed(w.create(agents("a")))
		if _, err := w.admin.AddParticipant(w.Context(), &parley.AddParticipantParams{
			ConversationID: early, Participant: parley.Participant{ID: "a", Kind: parley.KindAgent},
		}); err != nil {
			w.Fatal(err)
		}
		other := w.run(w.client("b"),
			parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, "your turn")
			}), nil)
		w.await(early, func(e *parley.Event) bool { return e.From == "a" })
		w.stopped(r, other)
	})
}
