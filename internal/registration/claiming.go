package registration

import (
	"slices"
	"sync"
)

// Claiming are the claims that are being taken: a registration that is said again in the meantime
// names them, or the hub would end them.
type Claiming struct {
	mu     sync.Mutex // guards the field below
	claims map[string]int
}

// Begin notes a claim until the call of the result; an empty one is none.
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

// With gives what holding names, which may be nil, and what is being taken.
func (c *Claiming) With(holding func() []string) []string {
	c.mu.Lock()
	var all []string
	for id := range c.claims {
		all = append(all, id)
	}
	c.mu.Unlock()
	if holding != nil { // after the look: a claim that was taken in between is in one of the two
		all = append(all, holding()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
