package admission

import (
	"sync"
	"time"
)

// table has a value for each key, and removes idle values. It has at most a fixed number of values;
// keys beyond that share one value.
type table[K comparable, V any] struct {
	most   int
	create func() *V
	idle   func(*V) bool // reports whether a new value would be the same

	mu      sync.Mutex // guards the fields below
	values  map[K]*V
	shared  *V        // of the keys beyond most; nil if there are no such keys
	full    int       // number of values at which idle ones are removed
	removed time.Time // when idle values were last removed
}

func newTable[K comparable, V any](most int, create func() *V, idle func(*V) bool) *table[K, V] {
	return &table[K, V]{most: most, create: create, idle: idle, values: map[K]*V{}, full: min(most, 64)}
}

// use calls f with the value of a key, with mu held, and reports whether no other key shares the
// value. f must not block.
func (t *table[K, V]) use(key K, f func(*V)) (own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.findLocked(key)
	f(v)
	return v != t.shared
}

// each calls f with all values, with mu held.
func (t *table[K, V]) each(f func(K, *V)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, v := range t.values {
		f(k, v)
	}
	if t.shared != nil {
		f(*new(K), t.shared)
	}
}

func (t *table[K, V]) findLocked(key K) *V {
	if v := t.values[key]; v != nil {
		return v
	}
	if len(t.values) >= t.full {
		t.removeIdleLocked()
	}
	if len(t.values) >= t.most {
		if t.shared == nil {
			t.shared = t.create()
		}
		return t.shared
	}
	v := t.create()
	t.values[key] = v
	return v
}

// removeIdleLocked removes idle values, at most once a second: a client with ever new addresses must
// not cost the hub more.
func (t *table[K, V]) removeIdleLocked() {
	now := time.Now()
	if now.Sub(t.removed) < time.Second {
		t.full = min(t.most, 2*t.full)
		return
	}
	t.removed = now
	for k, v := range t.values {
		if t.idle(v) {
			delete(t.values, k)
		}
	}
	t.full = min(t.most, max(64, 2*len(t.values)))
}
