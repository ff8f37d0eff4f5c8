//go:build !unix

package paramschema_test

import "time"

var begin = time.Now()

// worked returns how long the process has run.
func worked() time.Duration { return time.Since(begin) }
