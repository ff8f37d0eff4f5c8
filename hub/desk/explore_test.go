package desk

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// skip has two attempts, and then the next turn; reoffer repeats its offers.
var (
	skip    = parley.Limits{MaxAttempts: 2, OnTurnTimeout: parley.TurnSkip, MaxClaimMs: 2 * limits.DefaultTurnTimeoutMs}
	closes  = parley.Limits{MaxAttempts: 2, OnTurnTimeout: parley.TurnClose, MaxClaimMs: 2 * limits.DefaultTurnTimeoutMs}
	reoffer = parley.Limits{MaxAttempts: 2, MaxClaimMs: 2 * limits.DefaultTurnTimeoutMs}
)

const human, peer, aide = parley.KindHuman, parley.KindPeer, parley.KindAgent

// scenarios are gone through whole.
var scenarios = []scenario{
	{name: "good", reps: []kind{good, good}, peer: human, turns: 3, limits: skip, lates: 1, drops: 1},
	{name: "good crash", reps: []kind{good, good}, peer: human, turns: 2, limits: skip, lates: 1, crashes: 1, repeats: 1},
	{name: "dead", reps: []kind{dead, dead}, peer: human, turns: 2, limits: skip, crashes: 1},
	{name: "dead good", reps: []kind{dead, good}, peer: human, turns: 2, limits: skip, crashes: 1, drops: 1, lates: 1},
	{name: "nobody", reps: nil, peer: human, turns: 1, limits: closes, crashes: 1},
	{name: "hang", reps: []kind{hang, good}, peer: human, turns: 2, limits: skip, lates: 1, repeats: 1},
	{name: "hang crash", reps: []kind{hang, good}, peer: human, turns: 2, limits: skip, crashes: 1, lates: 1},
	{name: "mute closes", reps: []kind{mute, mute}, peer: human, turns: 2, limits: closes, lates: 1, crashes: 1},
	{name: "reoffer", long: true, reps: []kind{hang, good}, peer: peer, turns: 2, limits: reoffer, lates: 1},
	{name: "renew", reps: []kind{renewer, good}, peer: human, turns: 2, limits: skip, lates: 1, crashes: 1},
	{name: "decline", reps: []kind{decliner, good}, peer: human, turns: 2, limits: skip, repeats: 1, lates: 1},
	{name: "yield", reps: []kind{yielder, good}, peer: human, turns: 2, limits: skip, repeats: 1, crashes: 1},
	{name: "approval", reps: []kind{asker, asker}, peer: human, turns: 2, limits: skip, lates: 1, drops: 1},
	{name: "approval crash", reps: []kind{asker, good}, peer: human, turns: 2, limits: skip, crashes: 1, lates: 1},
	{name: "approval dies", reps: []kind{asker, asker}, peer: human, turns: 2, limits: skip, deaths: 1, repeats: 1},
	{name: "approval closes", reps: []kind{asker}, peer: human, turns: 2, limits: closes, drops: 1, lates: 1},
	{name: "approval races", deferred: true, reps: []kind{asker, hang}, peer: human, turns: 2, limits: skip, lates: 1, drops: 1},
	{name: "approval reoffer", long: true, reps: []kind{asker, hang}, peer: peer, turns: 2, limits: reoffer, lates: 1, crashes: 1},
	{name: "two hubs approval", hubs: 2, reps: []kind{asker, good}, peer: human, turns: 2, limits: skip, drops: 1},
	{name: "slow", reps: []kind{slow, dead}, peer: human, turns: 2, limits: reoffer, crashes: 1},
	{name: "slow slow", reps: []kind{slow, slow}, peer: human, turns: 1, limits: skip, drops: 1},
	{name: "restart", reps: []kind{restarter, good}, peer: human, turns: 2, limits: skip, repeats: 1, lates: 1},
	{name: "restart alone", reps: []kind{restarter}, peer: human, turns: 2, limits: skip, repeats: 2, crashes: 1},
	{name: "pull", reps: []kind{puller, puller}, peer: human, turns: 3, limits: skip, repeats: 1},
	{name: "pull push", reps: []kind{puller, good}, peer: human, turns: 2, limits: skip, repeats: 1, lates: 1, drops: 1},
	{name: "pull by number", reps: []kind{taker, good}, peer: human, turns: 2, limits: skip, repeats: 1, crashes: 1},
	{name: "pull dies", reps: []kind{pullDies, good}, peer: human, turns: 2, limits: skip, lates: 1},
	{name: "one shot", reps: []kind{oneShot, oneShot}, peer: human, turns: 3, limits: skip, repeats: 1},
	{name: "one shot push", long: true, reps: []kind{oneShot, hang}, peer: human, turns: 3, limits: skip, lates: 1, repeats: 1},
	{name: "agents", reps: []kind{good, hang}, peer: aide, turns: 2, limits: skip, crashes: 1, silent: true},
	{name: "agents speak", long: true, reps: []kind{good, hang}, peer: aide, turns: 3, limits: skip, lates: 1, drops: 1},
	{name: "three", reps: []kind{hang, dead, good}, peer: human, turns: 2, limits: skip, lates: 1},
	{name: "deaths", reps: []kind{good, good}, peer: human, turns: 2, limits: skip, deaths: 2, repeats: 1},
	{name: "races", deferred: true, reps: []kind{good, hang}, peer: human, turns: 2, limits: skip, drops: 1, lates: 1},
	{name: "races renew", deferred: true, reps: []kind{renewer, dead}, peer: human, turns: 2, limits: skip, lates: 1},
	{name: "races crash", long: true, deferred: true, reps: []kind{hang, good}, peer: human, turns: 2, limits: skip, crashes: 1, lates: 1},
	{name: "races yield", deferred: true, reps: []kind{yielder, puller}, peer: aide, turns: 2, limits: closes, lates: 1, repeats: 1},
	{name: "good faults", long: true, reps: []kind{good, good}, peer: human, turns: 2, limits: skip, lates: 2, drops: 1, crashes: 1},
	{name: "hang late", long: true, reps: []kind{hang, good}, peer: human, turns: 2, limits: skip, lates: 2, repeats: 1},
	{name: "three faults", long: true, reps: []kind{hang, slow, good}, peer: human, turns: 2, limits: skip, lates: 1, crashes: 1},
	{name: "three pull", long: true, reps: []kind{puller, oneShot, good}, peer: human, turns: 2, limits: skip, lates: 1, repeats: 1},
	{name: "two hubs", hubs: 2, reps: []kind{good, good}, peer: human, turns: 2, limits: skip, drops: 1},
	{name: "two hubs crash", hubs: 2, reps: []kind{good, hang}, peer: human, turns: 2, limits: skip, crashes: 1},
	{name: "two hubs copies", hubs: 2, reps: []kind{good, good}, peer: human, turns: 2, limits: skip, repeats: 1},
	{name: "two hubs pull", hubs: 2, reps: []kind{puller, good}, peer: human, turns: 2, limits: skip, repeats: 1},
	{name: "two hubs faults", long: true, hubs: 2, reps: []kind{good, good}, peer: human, turns: 2, limits: skip, drops: 2, crashes: 1},
	{name: "two hubs late", long: true, hubs: 2, reps: []kind{good, hang}, peer: human, turns: 2, limits: skip, drops: 1, lates: 1},
	{name: "two hubs renew", long: true, hubs: 2, reps: []kind{renewer, dead}, peer: human, turns: 2, limits: skip, drops: 1},
}

func scenarioOf(t *testing.T, name string) scenario {
	for _, s := range scenarios {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no scenario %q", name)
	return scenario{}
}

// TestExplore visits every state that the deciders and two or three replicas can reach. With
// PARLEY_EXPLORE=1 it includes the scenarios that take long.
func TestExplore(t *testing.T) {
	for _, s := range scenarios {
		if s.long && os.Getenv("PARLEY_EXPLORE") == "" || testing.Short() && s.lates+s.repeats+s.crashes+s.drops > 1 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			began := time.Now()
			x := &explorer{scenario: s, limit: 400_000}
			f := x.explore()
			if f.bad != "" || f.capped {
				t.Errorf("capped %t: %v", f.capped, f)
			}
			t.Logf("%d states, %d moves, %.2f s", f.states, f.moves, time.Since(began).Seconds())
		})
	}
}

// TestExplore_CallerRules breaks the rules that callers of Decide and Desk keep. The explorer must
// find the consequence of each.
func TestExplore_CallerRules(t *testing.T) {
	for _, c := range []struct {
		name, scenario string
		without        without
		want           string
	}{
		{"reading", "two hubs", without{reading: true}, "told that it has lost"},
		{"recheck", "two hubs pull", without{reading: true, recheck: true}, "no hub writes"},
		{"restart", "two hubs crash", without{restart: true}, "ended as disconnected"},
		{"grace", "good", without{grace: true}, "ended as disconnected"},
		{"turn of an answer", "one shot", without{turnless: true}, "another turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &explorer{scenario: scenarioOf(t, c.scenario), without: c.without, limit: 200_000}
			f := x.explore()
			if f.bad == "" || !strings.Contains(f.bad, c.want) {
				t.Fatalf("%d states, capped %t: found %q, want %q: %v", f.states, f.capped, f.bad, c.want, f)
			}
			t.Logf("%d states, %d steps: %v", f.states, len(f.trace), f)
		})
	}
}
