package hub

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/internal/rule"
)

// plantBlind is a hub that writes what it has decided behind what it has not seen.
const plantBlind = "blind"

// plantNoCompare is a journal that writes behind whatever there is.
const plantNoCompare = "no compare"

// plants are the bugs that are planted, and what the duel says of them. The rules are those that need two hubs, or are about who speaks.
var plants = []struct {
	name string
	off  []rule.Rule
	says string // a part of it
}{
	{"StaleRef", []rule.Rule{rule.StaleRef}, modelSays},                       // H1: an ended claim speaks
	{plantBlind, nil, "the log is none"},                                      // H12, Recheck: two claims at once, among other things
	{plantNoCompare, nil, "the log is none"},                                  // what a hub that is behind has decided is written
	{"FreshRefuse", []rule.Rule{rule.FreshRefuse}, "refuse"},                  // H13: a hub that is behind refuses what another has granted; mostly before a claim comes to it
	{"WatchTime", []rule.Rule{rule.WatchTime}, "ends a claim of"},             // a claim ends by a clock that is ten minutes fast
	{"RenewLog", []rule.Rule{rule.RenewLog}, "was granted"},                   // H14: a renewal is worth nothing
	{"GraceShort", []rule.Rule{rule.GraceShort}, "though nobody has left it"}, // H16: a hub ends the claim of who is at the other one
	{"RenewCap", []rule.Rule{rule.RenewCap}, "does not go on"},                // H7: who hangs and renews holds a turn as long as it likes
	{"CloseClears", []rule.Rule{rule.CloseClears}, "which has ended"},         // H19: a claim outlives its turn
}

// TestDuelFindsPlants: a duel that cannot fail says nothing.
func TestDuelFindsPlants(t *testing.T) {
	if testing.Short() {
		t.Skip("some are found in many duels only")
	}
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			for _, r := range p.off {
				rule.Switch(r, false)
			}
			defer func() {
				for _, r := range p.off {
					rule.Switch(r, true)
				}
			}()
			const seeds = 1000 // the plan is that of the seed, what comes of it is the scheduler's too
			if found := hunt(t, p.name, p.says, seeds); found != "" {
				t.Logf("found: %s", found)
				return
			}
			t.Errorf("%d duels have not found it", seeds)
		})
	}
}

// hunt plays duels until one says so, and gives that.
func hunt(t *testing.T, plant, says string, seeds uint64) string {
	for seed := uint64(1); seed <= seeds; seed++ {
		for _, problem := range play(t, seed, plant).problems {
			if strings.Contains(problem, says) {
				return problem
			}
		}
	}
	return ""
}
