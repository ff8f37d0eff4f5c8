//go:build !unix

package selector_test

import "time"

var begin = time.Now()

// worked is how long the process has been there.
func worked() time.Duration { return time.Since(begin) }
