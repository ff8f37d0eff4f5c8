//go:build !linux

package process

import (
	"context"
	"os"
	"time"
)

// Supervise does nothing on this system.
func Supervise() {}

// Enabled reports whether programs have supervisors. On this system they do not.
func Enabled() bool { return false }

type supervisors struct{}

func (*supervisors) start(context.Context, *plan, [3]*os.File, time.Duration) (holder, error) {
	panic("no supervisors on this system")
}

func (*supervisors) close() {}
