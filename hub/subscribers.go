package hub

import "sync"

// subscribers are the subscriptions that are open, so that somebody can look how far behind they are.
type subscribers struct {
	mu   sync.Mutex // guards the field below, and number of each
	open []*Subscription
}

func (s *subscribers) add(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.number = len(s.open)
	s.open = append(s.open, one)
}

func (s *subscribers) remove(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.open) - 1
	s.open[one.number], s.open[last].number = s.open[last], one.number
	s.open[last] = nil
	s.open = s.open[:last]
}

// lag counts the subscriptions and the committed events that they have still to look at: of the one that is furthest behind, and of all
// together. It reads two numbers of each and waits for no conversation.
func (s *subscribers) lag() (count, most, sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		behind := max(0, one.c.committedSeq.Load()-one.examined.Load())
		most = max(most, behind)
		sum += behind
	}
	return int64(len(s.open)), most, sum
}

// join adds a subscription, which begins with what is there now. Deltas are kept while there is one.
func (c *conversation) join(s *Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.latest, s.deltas, s.place = c.durable.Seq, c.deltaCount, len(c.audience)
	c.audience = append(c.audience, s)
}

// leave takes a subscription out again.
func (c *conversation) leave(s *Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.audience) - 1
	c.audience[s.place], c.audience[last].place = c.audience[last], s.place
	c.audience[last] = nil
	if c.audience = c.audience[:last]; last == 0 {
		c.audience, c.deltas, c.deltaBytes = nil, nil, 0
	}
}
