package sdk

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestForgive: whoever takes the place of an executor may be its own registration that came late, once for each that was given up, and only for as long as one can be on its way. After that it is
// another process, which stays.
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
