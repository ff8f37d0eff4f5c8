package journaltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// testLongest checks the longest names and the largest number of them.
func testLongest(t *testing.T, f Factory) {
	j := f.Open(t)
	id := strings.Repeat("i", journal.MaxNameBytes)
	b := Batch(id, 0, "x")
	for i := range journal.MaxLabels {
		b.Labels = append(b.Labels, strings.Repeat(string(rune('a'+i%26)), journal.MaxNameBytes-i))
	}
	if _, err := journal.Append(t.Context(), j, b); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		records, err := j.Read(id, 0, 10, 1<<20)
		if err != nil || len(records) != 1 || !slices.Equal(records[0].Labels, b.Labels) {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for _, l := range b.Labels {
			if rows, err := j.Labeled(l, 0, 10); err != nil || len(rows) != 1 || rows[0].Conversation != id {
				t.Fatalf("labeled with %d bytes: %+v, %v", len(l), rows, err)
			}
		}
		CheckInvariants(t, j)
		j = f.Reopen(t, j)
	}
}
