package process

import (
	"syscall"
	"testing"
	"time"
)

// TestOverdue tests how long a process may live after SIGKILL. A process that may not be killed has
// less time than one that is dying, because a busy machine delays the latter.
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
