package turns

import (
	"slices"
	"testing"

	"github.com/parleyhub/parley"
)

// A conversation waits once in the queue of each demand, and in no other one.
func TestQueues_Move(t *testing.T) {
	inside, outside, other := demand{"a", true}, demand{"a", false}, demand{"b", false}
	at := func(since parley.Timestamp, demands ...demand) place { return place{since, demands} }
	for _, c := range []struct {
		name   string
		places []place // of one conversation, one after the other
		want   []demand
	}{
		{"added", []place{at(2, inside, outside)}, []demand{inside, outside}},
		{"twice", []place{at(2, outside, outside), at(2, outside)}, []demand{outside}},
		{"later", []place{at(2, outside), at(5, outside)}, []demand{outside}},
		{"other agent", []place{at(2, inside, outside), at(2, other)}, []demand{other}},
		{"removed", []place{at(2, inside, outside), at(5)}, nil},
	} {
		q, p := queues{}, place{}
		for _, next := range c.places {
			q.move("case", &p, next)
		}
		for w, all := range q {
			if !slices.Contains(c.want, w) || !slices.Equal(all, []waiter{{p.since, "case"}}) {
				t.Errorf("%s: the queue of %v has %v", c.name, w, all)
			}
		}
		if len(q) != len(c.want) {
			t.Errorf("%s: %d queues, want %d", c.name, len(q), len(c.want))
		}
	}
}

// An executor gets what waits longest first, over all that it serves.
func TestQueues_LongestFirst(t *testing.T) {
	q := queues{}
	for id, w := range map[string]waiter{"a": {3, "x"}, "b": {2, "y"}} {
		q.move(w.id, &place{}, place{w.since, []demand{{id, false}}})
		q.move(w.id+"2", &place{}, place{w.since + 2, []demand{{id, false}}})
	}
	q.move("inside", &place{}, place{1, []demand{{"a", true}}})
	for _, c := range []struct {
		serves   []string
		internal bool
		want     []string
	}{
		{[]string{"a", "b", "c"}, false, []string{"y", "x", "y2", "x2"}},
		{[]string{"a"}, false, []string{"x", "x2"}},
		{[]string{"a", "b"}, true, []string{"inside"}},
		{nil, false, nil},
	} {
		var got []string
		for _, id := range q.waitingFor(c.serves, c.internal) {
			got = append(got, id)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("waiting for %v, internal %t: %v, want %v", c.serves, c.internal, got, c.want)
		}
	}
}
