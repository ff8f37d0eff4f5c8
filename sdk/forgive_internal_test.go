package sdk

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestForgive: an executor can be replaced by its own late registration, once for each lost answer,
// and only for as long as a request can be in transit. After that, it was replaced by another
// process.
func TestForgive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &executor{}
		if r.forgive() {
			t.Error("forgiven, and none was given up")
		}
		r.astray = []time.Time{time.Now(), time.Now()}
		for i, want := range []bool{true, true, false} {
			if got := r.forgive(); got != want {
				t.Errorf("two were given up; taken away the %d. time: forgiven %v", i+1, got)
			}
		}
		r.astray = []time.Time{time.Now()}
		time.Sleep(astrayFor + time.Second)
		r.astray = append(r.astray, time.Now())
		if !r.forgive() || r.forgive() {
			t.Error("one was given up long ago and one now, expected to be forgiven once")
		}
	})
}
