package hub

import "sync"

// subscribers are the subscriptions that are open, so that somebody can look how far behind they are.
type subscribers struct {
	mu   sync.Mutex // guards the field below
	open map[*Subscription]struct{}
}

func (s *subscribers) add(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*Subscription]struct{})
	}
	s.open[one] = struct{}{}
}

func (s *subscribers) remove(one *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

// lag counts the subscriptions and the committed events that they have still to look at: of the one that is furthest behind, and of all
// together. It reads two numbers of each and waits for no conversation.
func (s *subscribers) lag() (count, most, sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		behind := max(0, one.c.committedSeq.Load()-one.examined.Load())
		most = max(most, behind)
		sum += behind
	}
	return int64(len(s.open)), most, sum
}
