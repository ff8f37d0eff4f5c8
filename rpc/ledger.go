package rpc

import (
	"sync"
	"time"
)

// ledger keeps a value for each key, and forgets those that say nothing any more. It never holds more than most; keys that find no room
// share one value.
type ledger[K comparable, V any] struct {
	most  int
	fresh func() *V
	idle  func(*V) bool // a fresh one would do as well

	mu     sync.Mutex // guards the fields below
	values map[K]*V
	others *V        // of the keys without room; nil until there are some
	full   int       // so many values are looked through for idle ones
	looked time.Time // when they were last
}

func newLedger[K comparable, V any](most int, fresh func() *V, idle func(*V) bool) *ledger[K, V] {
	return &ledger[K, V]{most: most, fresh: fresh, idle: idle, values: map[K]*V{}, full: min(most, 64)}
}

// use calls f with the value of a key, while nobody else uses any, and reports whether it is that key's own. f must not block.
func (l *ledger[K, V]) use(key K, f func(*V)) (own bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.findLocked(key)
	f(v)
	return v != l.others
}

// each calls f with all values, while nobody else uses any.
func (l *ledger[K, V]) each(f func(K, *V)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, v := range l.values {
		f(k, v)
	}
	if l.others != nil {
		f(*new(K), l.others)
	}
}

func (l *ledger[K, V]) findLocked(key K) *V {
	if v := l.values[key]; v != nil {
		return v
	}
	if len(l.values) >= l.full {
		l.forgetLocked()
	}
	if len(l.values) >= l.most {
		if l.others == nil {
			l.others = l.fresh()
		}
		return l.others
	}
	v := l.fresh()
	l.values[key] = v
	return v
}

// forgetLocked looks for idle values, once a second at most: who comes from ever new addresses shall not make that the hub's work.
func (l *ledger[K, V]) forgetLocked() {
	now := time.Now()
	if now.Sub(l.looked) < time.Second {
		l.full = min(l.most, 2*l.full)
		return
	}
	l.looked = now
	for k, v := range l.values {
		if l.idle(v) {
			delete(l.values, k)
		}
	}
	l.full = min(l.most, max(64, 2*len(l.values)))
}
