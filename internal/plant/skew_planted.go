//go:build planted

package plant

import (
	"os"
	"time"
)

// SkewVariable is a duration by which the wall clock of a hub is ahead of the machine's, as -10m. It is no bug: no clock may change what a hub promises.
const SkewVariable = "PARLEY_PLANT_SKEW"

var skew = func() time.Duration {
	text := os.Getenv(SkewVariable)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(SkewVariable + ": " + err.Error())
	}
	return d
}()

// Skew is how much the wall clock of a hub is ahead of the machine's.
func Skew() time.Duration { return skew }
