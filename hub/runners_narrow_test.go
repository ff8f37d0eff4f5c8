package hub_test

import (
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
)

// TestRunnerWithALesserToken: if another token of the participant registers the runner, its missing
// grants no longer apply, until the blueprints are registered again.
func TestRunnerWithALesserToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		watching(t, h, "ops", "calc", ofWorkspace, "green", "blue")
		ann := h.LocalPrincipal("ann")
		green, blue := room(t, h, "green", parley.KindPeer), room(t, h, "blue", parley.KindPeer)
		wakes := func(id string, want bool) {
			t.Helper()
			seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
			if got := explained(t, h, ann, id, seq, "calc"); got.Woken != want {
				t.Errorf("woken is %t, want %t: %s", got.Woken, want, got.Because)
			}
		}
		quietly := func(id string) {
			t.Helper()
			seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
			logIs(t, j, id, seq, "note ann s.v1")
		}
		wakes(green, true)
		speaker(t, h, "ops", 100, []string{"calc"}, []string{"blue", "green", "red"}) // as much, and more: nothing is written
		synctest.Wait()
		wakes(green, true)
		wakes(blue, true)
		speaker(t, h, "ops", 100, []string{"calc"}, []string{"blue"})
		synctest.Wait()
		quietly(green)
		wakes(blue, true)
		x := speaker(t, h, "ops", 100, nil, []string{"blue", "green"}) // may not speak as the agent
		synctest.Wait()
		quietly(blue)
		if _, err := x.bring(counter("calc")); err != nil {
			t.Fatal(err)
		}
		quietly(green)
		x = speaker(t, h, "ops", 100, []string{"calc"}, []string{"green"})
		synctest.Wait()
		x.says(listens("calc", ofWorkspace))
		wakes(green, true)
		quietly(blue)
	})
}
