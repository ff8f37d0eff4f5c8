package cluster

import (
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// Scanned records go to the conversation that continues from there without a gap, until the next
// scan.
func TestFollower_Scanned(t *testing.T) {
	var f Follower
	if got := f.Scanned("a", 0); got != nil {
		t.Errorf("before the first scan: %v", got)
	}
	f.keepScanned([]journal.Record{
		{Conversation: "a", Seq: 3},
		{Conversation: "b", Seq: 1},
		{Conversation: "a", Seq: 4},
		{Conversation: "a", Seq: 5},
	})
	for _, tt := range []struct {
		conversation string
		after        int64
		want         []int64
	}{
		{"a", 1, nil},
		{"a", 2, []int64{3, 4, 5}},
		{"a", 4, []int64{5}},
		{"a", 5, nil},
		{"a", 9, nil},
		{"b", 0, []int64{1}},
		{"c", 0, nil},
	} {
		got := f.Scanned(tt.conversation, tt.after)
		if len(got) != len(tt.want) {
			t.Errorf("%s after %d: %v, expected %v", tt.conversation, tt.after, got, tt.want)
			continue
		}
		for i, r := range got {
			if r.Conversation != tt.conversation || r.Seq != tt.want[i] {
				t.Errorf("%s after %d: %v, expected %v", tt.conversation, tt.after, got, tt.want)
			}
		}
	}
	f.keepScanned(nil)
	if got := f.Scanned("a", 2); got != nil {
		t.Errorf("after the next scan: %v", got)
	}
}
