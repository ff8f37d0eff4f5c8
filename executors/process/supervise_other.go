//go:build !linux

package process

import (
	"context"
	"os"
	"time"
)

// Supervise makes this process a supervisor if it was started as one, and then never returns. On this system it does nothing.
func Supervise() {}

// Enabled reports whether programs are held by supervisors. On this system they are not.
func Enabled() bool { return false }

type supervisors struct{}

func (*supervisors) start(context.Context, *plan, [3]*os.File, time.Duration) (holder, error) {
	panic("no supervisors on this system")
}

func (*supervisors) close() {}
