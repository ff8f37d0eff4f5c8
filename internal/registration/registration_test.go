package registration_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/registration"
)

func offer(conversation string, n int) parley.ExecutorNotification {
	return parley.ExecutorNotification{RequestTurn: &parley.RequestTurn{ConversationID: conversation, AgentID: "a",
		ClaimID: fmt.Sprint("clm_", n)}}
}

func ended(n int) parley.ExecutorNotification {
	return parley.ExecutorNotification{ClaimEnded: &parley.ClaimEndedNotification{ClaimID: fmt.Sprint("clm_", n)}}
}

func waits(n int, waiting bool) parley.ExecutorNotification {
	return parley.ExecutorNotification{ClaimWaiting: &parley.ClaimWaitingNotification{ClaimID: fmt.Sprint("clm_", n),
		Waiting: waiting}}
}

func claims(n *registration.Notices) []string {
	var ids []string
	for _, x := range n.Take() {
		switch {
		case x.RequestTurn != nil:
			ids = append(ids, "offer "+x.RequestTurn.ClaimID)
		case x.ClaimWaiting != nil:
			ids = append(ids, fmt.Sprint("waits ", x.ClaimWaiting.Waiting, " ", x.ClaimWaiting.ClaimID))
		default:
			ids = append(ids, "end "+x.ClaimEnded.ClaimID)
		}
	}
	return ids
}

// TestNoticesKeepTheirOrder checks that notifications are returned once and in order of arrival. A
// newer offer of a turn replaces the older one, and moves to the end.
func TestNoticesKeepTheirOrder(t *testing.T) {
	n := registration.NewNotices(0)
	select {
	case <-n.Wake():
		t.Error("there is nothing to wake for")
	default:
	}
	for _, x := range []parley.ExecutorNotification{offer("c", 1), ended(1), offer("d", 2), offer("c", 3), ended(2)} {
		n.Add(x)
	}
	<-n.Wake()
	if got, want := claims(n), []string{"end clm_1", "offer clm_2", "offer clm_3", "end clm_2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := claims(n); got != nil {
		t.Errorf("again: %v", got)
	}
	n.Add(offer("c", 4))
	<-n.Wake()
	if got := claims(n); !slices.Equal(got, []string{"offer clm_4"}) {
		t.Errorf("later: %v", got)
	}
}

// TestNoticesAreBounded checks that the queue keeps as many offers as the capacity, and only the
// last ended claims.
func TestNoticesAreBounded(t *testing.T) {
	n := registration.NewNotices(3)
	for i := range 10 {
		n.Add(offer(fmt.Sprint("c", i), i))
		n.Add(ended(i))
	}
	got := claims(n)
	offers := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s[0] != 'o' })
	if len(got) != 13 || !slices.Equal(offers, []string{"offer clm_7", "offer clm_8", "offer clm_9"}) {
		t.Errorf("%v", got)
	}
	for i := range limits.MaxHolding + 5 {
		n.Add(ended(i))
	}
	if got := claims(n); len(got) != limits.MaxHolding || got[0] != "end clm_5" {
		t.Errorf("%d ends, from %s", len(got), got[0])
	}
	for capacity, want := range map[int]int{-1: 1, 0: limits.DefaultCapacity, 1 << 30: limits.MaxCapacity} {
		n := registration.NewNotices(capacity)
		for i := range limits.MaxCapacity + 1 {
			n.Add(offer(fmt.Sprint(i), i))
		}
		if got := len(n.Take()); got != want {
			t.Errorf("capacity %d keeps %d", capacity, got)
		}
	}
}

// TestWaitingIsTheLatest: of whether a claim's turn waits the last word is kept, at the end, and of
// all claims no more than can be held.
func TestWaitingIsTheLatest(t *testing.T) {
	n := registration.NewNotices(1)
	for _, x := range []parley.ExecutorNotification{waits(1, true), waits(2, true), offer("c", 3), waits(1, false),
		ended(2)} {
		n.Add(x)
	}
	if got, want := claims(n), []string{"waits true clm_2", "offer clm_3", "waits false clm_1",
		"end clm_2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	n.Add(waits(1, true))
	if got := claims(n); !slices.Equal(got, []string{"waits true clm_1"}) {
		t.Errorf("after a look: %v", got)
	}
	for i := range limits.MaxHolding + 5 {
		n.Add(waits(i, true))
	}
	n.Add(waits(0, false)) // forgotten, so it is a new one
	if got := claims(n); len(got) != limits.MaxHolding || got[0] != "waits true clm_6" ||
		got[len(got)-1] != "waits false clm_0" {
		t.Errorf("%d, from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

// TestClaiming: a claim that is being taken is held, as often as it is, and named once.
func TestClaiming(t *testing.T) {
	var c registration.Claiming
	if got := c.With(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
	one, again, none := c.Begin("b"), c.Begin("b"), c.Begin("")
	held := func() []string { return []string{"c", "b", "a"} }
	if got := c.With(held); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%v", got)
	}
	one()
	none()
	if got := c.With(nil); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%v", got)
	}
	again()
	if got := c.With(nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
