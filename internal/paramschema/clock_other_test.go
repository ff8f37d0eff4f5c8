//go:build !unix

package paramschema_test

import "time"

var begin = time.Now()

// worked is how long the process has been there.
func worked() time.Duration { return time.Since(begin) }
