package changes

import (
	"fmt"
	"testing"
)

// BenchmarkNote records a change of the newest entry, of one of many, and of one that drops the oldest.
func BenchmarkNote(b *testing.B) {
	for name, ids := range map[string]int{"same": 1, "many": maxChanged, "forgets": 2 * maxChanged} {
		b.Run(name, func(b *testing.B) {
			names := make([]string, ids)
			for i := range names {
				names[i] = fmt.Sprint("conversation-", i)
			}
			c := New(nil, nil, nil, nil)
			for i := range 2 * maxChanged {
				c.note(names[i%ids])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.note(names[i%ids])
			}
		})
	}
}

// TestNoteCost checks that a change of an entry allocates nothing, and that the number of entries is bounded.
func TestNoteCost(t *testing.T) {
	c := New(nil, nil, nil, nil)
	for i := range maxChanged {
		c.note(fmt.Sprint(i))
	}
	if n := testing.AllocsPerRun(1000, func() { c.note("7"); c.note("8") }); n != 0 {
		t.Errorf("%v allocations for a change of an entry", n)
	}
	for i := range 3 * maxChanged {
		c.note(fmt.Sprint("other", i))
	}
	if len(c.entries) != maxChanged {
		t.Errorf("%d entries", len(c.entries))
	}
}
