package token

import (
	"testing"
	"time"
)

// TestExpiryIsRoundedUp: a token lasts at least as long as was asked for.
func TestExpiryIsRoundedUp(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]int64{
		0: 0, time.Second: 1000, time.Second + time.Nanosecond: 1001, 24 * time.Hour: 86_400_000,
	} {
		p, err := tokenFlags{agent: "a", expires: given}.params()
		if err != nil || p.ExpiresInMs != want {
			t.Errorf("--expires %s is %+v, %v; expected %d ms", given, p, err, want)
		}
	}
}
