package registration

import (
	"slices"
	"sync"
)

// Claiming has the claims whose claimTurn call is in progress. A repeated registration must name
// them, otherwise the hub ends them.
type Claiming struct {
	mu     sync.Mutex // guards the field below
	claims map[string]int
}

// Begin adds a claim until end is called. It ignores an empty id.
func (c *Claiming) Begin(claimID string) (end func()) {
	if claimID == "" {
		return func() {}
	}
	c.add(claimID, 1)
	return func() { c.add(claimID, -1) }
}

func (c *Claiming) add(claimID string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims == nil {
		c.claims = map[string]int{}
	}
	if c.claims[claimID] += n; c.claims[claimID] == 0 {
		delete(c.claims, claimID)
	}
}

// With returns the claims of holding, which may be nil, and the claims in progress.
func (c *Claiming) With(holding func() []string) []string {
	c.mu.Lock()
	var all []string
	for id := range c.claims {
		all = append(all, id)
	}
	c.mu.Unlock()
	if holding != nil { // called last, so that a claim that moves between the two sets is in the result
		all = append(all, holding()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
