package torture

import (
	"context"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/promise"
)

const (
	// atOnce is the capacity of the runner that is killed: the other children wait for their turn
	// meanwhile.
	atOnce = 6
	// interrupted is what the seed has a session say whose runner is gone.
	interrupted = "Runner disconnected during execution"
)

// TestRunnerKilled kills a runner while six of ten children run their command. The commands end
// with the runner. The six children fail, either after the runner's grace or when it returns
// without them. The others run when it returns. Each end is posted once.
func TestRunnerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the kills of runners left out")
	}
	t.Parallel()
	for _, c := range []struct {
		name  string
		grace string // empty: 3 min, far longer than the test
		back  bool   // at once
	}{{"it stays away", "500ms", false}, {"it comes back at once", "", true}} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"--capacity", "6"}
			if c.grace != "" {
				args = append(args, "--grace", c.grace)
			}
			f := newFamily(t, args...)
			r := f.newRound(0, true)
			ctx, cancel := context.WithTimeout(t.Context(), slowestRound)
			defer cancel()
			defer r.gate.close()
			if err := r.begin(ctx); err != nil {
				t.Fatal(err)
			}
			f.await("six commands run", func() bool { return r.haveRun() == atOnce })
			first := f.ran()
			f.killRunner()
			if c.back {
				f.startRunner(args...)
			}
			for id := range first {
				f.awaitInterrupted(ctx, id)
			}
			if !c.back {
				f.startRunner(args...)
			}
			f.await("the others run", func() bool { return r.haveRun() == children })
			if err := r.finish(ctx); err != nil {
				t.Fatal(err)
			}
			f.end()
			r.judgeInterrupted(exported(t, f.dir), first, f.ran())
			tried := promise.Tried{Faults: 1, Operations: len(f.ran()), Violations: promise.Broken(t)}
			promise.ID(13).Kept(t, tried)
			if !processesSeen() {
				promise.Left(t, "needs /proc", 14)
			}
			promise.ID(14).Kept(t, tried)
		})
	}
}

// killRunner kills the runner, and finds that nothing is left of what it has started.
func (f *family) killRunner() {
	f.t.Helper()
	below := descendants(f.runner.Pid())
	if len(below) < atOnce && processesSeen() {
		f.t.Fatalf("the runner has %d processes below it, expected at least the %d commands", len(below), atOnce)
	}
	f.runner.Kill(f.t)
	killed := time.Now()
	f.await("the processes of the runner are gone", func() bool { return len(alive(below)) == 0 })
	f.t.Logf("the processes of the runner were gone after %s", time.Since(killed).Round(time.Millisecond))
}

// awaitInterrupted waits for the end of a session whose command was killed.
func (f *family) awaitInterrupted(ctx context.Context, id string) {
	f.t.Helper()
	s, err := f.boss.GetSession(ctx, &parley.GetSessionParams{SessionID: id, TimeoutMs: slowestTurn.Milliseconds()})
	if err != nil {
		f.t.Fatal(err)
	}
	if s.Status != parley.SessionFailed || s.Reason != parley.ReasonInterrupted || s.Result.Error != interrupted ||
		s.Result.ResultText != nil {
		f.t.Fatalf("%s is %s (%s): %+v, expected it to have failed: %s", id, s.Status, s.Reason, s.Result, interrupted)
	}
}

// judgeInterrupted is judge, where the sessions of first were interrupted.
func (r *round) judgeInterrupted(logs map[string][]parley.Event, first, ran map[string]int) {
	t := r.f.t
	t.Helper()
	k := newKinship()
	for i := range logs[r.parent] {
		if err := k.take(&logs[r.parent][i]); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.told) != children || k.tellers != 1 {
		t.Errorf("%d callbacks in %d messages, expected %d in one", len(k.told), k.tellers, children)
	}
	for n, id := range r.ids {
		c := k.told[id]
		if ran[id] != 1 {
			t.Errorf("the command of child %d, %s, was run %d times", n, id, ran[id])
		}
		if first[id] == 0 {
			if err := wantResult(&c, n); err != nil {
				t.Error(err)
			}
			continue
		}
		if c.Status != parley.SessionFailed || c.Result == nil || c.Result.Error != interrupted ||
			c.Result.ResultText != nil {
			t.Errorf("child %d, %s, was told as %s: %+v", n, id, c.Status, c.Result)
		}
	}
}
