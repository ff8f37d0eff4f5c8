//go:build !unix

package paramschema_test

import "time"

var begin = time.Now()

// cpuTime returns the run time of the process.
func cpuTime() time.Duration { return time.Since(begin) }
