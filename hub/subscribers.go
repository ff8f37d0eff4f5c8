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
	s.open = takeOut(s.open, one, func(one *Subscription) *int { return &one.number })
}

// takeOut takes one out of a list without order, each of which knows its place.
func takeOut[T any](list []*T, one *T, place func(*T) *int) []*T {
	i, last := *place(one), len(list)-1
	list[i] = list[last]
	*place(list[i]) = i
	list[last] = nil
	return list[:last]
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
	c.audience = takeOut(c.audience, s, func(s *Subscription) *int { return &s.place })
	if len(c.audience) == 0 {
		c.audience, c.deltas, c.deltaBytes = nil, nil, 0
	}
}
