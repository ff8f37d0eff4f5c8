package hub

import (
	"strings"
	"testing"
)

// The bugs of the journal that hubs share in a duel.
const (
	plantBlind     = "blind"      // a hub writes what it decided on an older head
	plantNoCompare = "no compare" // the journal accepts a batch on any head
)

// TestDuel_FindsJournalBugs plays duels on a journal with a bug until the judge reports it. The bugs
// of the hub itself are in package torture/plants.
func TestDuel_FindsJournalBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("some are found in many duels only")
	}
	for _, plant := range []string{plantBlind, plantNoCompare} {
		t.Run(plant, func(t *testing.T) {
			const seeds = 1000 // a seed fixes the plan, but not the scheduler
			for seed := uint64(1); seed <= seeds; seed++ {
				for _, problem := range play(t, seed, plant).problems {
					if strings.Contains(problem, "the log is none") {
						t.Logf("seed %d: %s", seed, problem)
						return
					}
				}
			}
			t.Errorf("%d duels have not found it", seeds)
		})
	}
}
