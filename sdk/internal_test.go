package sdk

// White-box: how much a feed holds and what a frame may be cannot be seen from outside.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

func event(t *testing.T, seq int64, size int) parley.Notification {
	t.Helper()
	e := new(parley.Event)
	raw := fmt.Sprintf(
		`{"seq":%d,"type":"message","from":"a","at":"2026-11-20T09:00:00.000Z","finality":"turn","payload":{"text":"%s"}}`,
		seq,
		strings.Repeat("x", size),
	)
	if err := json.Unmarshal([]byte(raw), e); err != nil {
		t.Fatal(err)
	}
	return parley.Notification{Event: e}
}

// TestFeedIsBounded: it ends when it is full, and what it holds up to then is whole.
func TestFeedIsBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for _, c := range []struct{ max, size, want int }{
		{max: 8, size: 10, want: 8},
		{max: 1000, size: maxFeedBytes / 4, want: 3},
		{max: 8, size: maxFeedBytes * 2, want: 1}, // one is taken, whatever its size: else it could never be read
	} {
		f := newFeed("c", 0, c.max)
		for seq := int64(1); seq <= int64(c.want)+2; seq++ {
			if ok := f.add("c", event(t, seq, c.size)); ok != (seq <= int64(c.want)) {
				t.Fatalf("max %d, size %d: event %d was taken: %v", c.max, c.size, seq, ok)
			}
		}
		items, ended := f.take()
		if len(items) != c.want || !ended {
			t.Errorf("max %d, size %d: the feed holds %d, ended %v, expected %d", c.max, c.size, len(items), ended, c.want)
		}
		for i, n := range items {
			if n.Event.Seq != int64(i+1) {
				t.Errorf("item %d is event %d", i, n.Event.Seq)
			}
		}
	}
}

// TestFeedRefusesWhatIsOff: an event that was there already, or that is another conversation's,
// ends the feed.
func TestFeedRefusesWhatIsOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		conversation string
		seq          int64
		want         bool
	}{{"c", 6, true}, {"c", 9, true}, {"c", 5, false}, {"c", 4, false}, {"other", 6, false}} {
		f := newFeed("c", 5, 100)
		if got := f.add(c.conversation, event(t, c.seq, 1)); got != c.want {
			t.Errorf("event %d of %s after 5 is taken: %v", c.seq, c.conversation, got)
		}
	}
}

// TestCursorAdmitsOnce: over repeated subscriptions, nothing is yielded twice.
func TestCursorAdmitsOnce(t *testing.T) {
	t.Parallel()
	k := cursor{seq: 3}
	guidance := func(kind parley.GuidanceKind) parley.Notification {
		return parley.Notification{Guidance: &parley.GuidanceNotification{Guidance: parley.Guidance{Kind: kind}}}
	}
	caughtUp := func(seq int64) parley.Notification {
		return parley.Notification{CaughtUp: &parley.CaughtUpNotification{Seq: seq}}
	}
	for i, c := range []struct {
		n    parley.Notification
		want bool
		seq  int64
	}{
		{event(t, 3, 1), false, 3},
		{event(t, 4, 1), true, 4},
		{caughtUp(6), true, 6}, // 5 and 6 are not for this reader
		{guidance(parley.Wait), true, 6},
		{event(t, 6, 1), false, 6},
		{caughtUp(6), false, 6},
		{guidance(parley.Wait), false, 6},
		{guidance(parley.MaySpeak), true, 6},
		{event(t, 7, 1), true, 7},
		{caughtUp(9), false, 9},
	} {
		if got := k.admit(c.n); got != c.want || k.seq != c.seq {
			t.Errorf("step %d: admitted %v, cursor %d, expected %v, %d", i, got, k.seq, c.want, c.seq)
		}
	}
}
