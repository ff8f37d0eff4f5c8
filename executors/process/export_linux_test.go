package process

import (
	"syscall"
	"testing"
	"time"
)

// WithoutSupervisors holds programs by their groups alone until the test has ended.
func WithoutSupervisors(t testing.TB) {
	before := supervised.Swap(false)
	t.Cleanup(func() { supervised.Store(before) })
}

// TestOverdue: a process that may not be killed is given up soon. One that is dying has more time, because a busy machine lets it wait.
func TestOverdue(t *testing.T) {
	for _, c := range []struct {
		err   error
		lived time.Duration
		want  bool
	}{
		{syscall.EPERM, time.Second, false},
		{syscall.EPERM, 4 * time.Second, true},
		{nil, 14 * time.Second, false},
		{nil, 16 * time.Second, true},
	} {
		if got := overdue(c.err, c.lived); got != c.want {
			t.Errorf("SIGKILL returned %v, and the process lived for %s: %v", c.err, c.lived, got)
		}
	}
}
