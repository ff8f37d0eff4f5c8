package hub_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

var timingPairs = flag.Int("timing.pairs", 0,
	"how often TestRefusalsTakeTheSameTime measures each refusal beside the other; 0 compares only allocations")

const (
	// timedTokens are live while refusals are timed, timedCalls make one measurement: a call alone is shorter than what a clock costs.
	timedTokens, timedCalls = 1000, 50
	// sameTime is the accepted ratio of the medians of two refusals: some 70 ns, far below what is
	// measurable through a socket. The rest is that a known id is found in a map, and its hash is
	// in memory that others have not just read.
	sameTime = 0.15
	// timingTries is how often it is measured: what else runs on the machine may be in the way of one of the two alone, and a difference that can be used is there each time.
	timingTries = 5
)

// TestRefusalsTakeTheSameTime: who guesses does not learn from the time of a refusal whether there is a token of an id. A token that is known and one that is not are
// refused in turns; the ratio of their times must be 1 within sameTime, with its interval of confidence, in one of timingTries measurements: one that is too small or too noisy to know does not count.
// Only an idle machine can measure that, so that make torture sets -timing.pairs, and make test compares what refusals allocate.
func TestRefusalsTakeTheSameTime(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: beside the race detector times say nothing")
	}
	h := startOn(t, newJournal(t), &hub.Options{RootToken: rootToken})
	admin, err := h.Authenticate(t.Context(), rootToken, "")
	if err != nil {
		t.Fatal(err)
	}
	var known, unknown, revoked []string // as many of each, of one length
	for i := range 2 * timedTokens {
		r, err := createToken(h, admin, parley.CreateTokenParams{AgentID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		shown := r.Token[:len(r.Token)-8] + "AAAAAAAA"
		if i >= timedTokens {
			_, err := one(func(done func(parley.RevokeTokenResult, error)) {
				h.RevokeToken(admin, &parley.RevokeTokenParams{TokenID: r.TokenID}, done)
			})
			if err != nil {
				t.Fatal(err)
			}
			revoked = append(revoked, shown)
			continue
		}
		known = append(known, shown)
		unknown = append(unknown, strings.Replace(shown, r.TokenID, backwards(r.TokenID), 1))
	}
	for name, others := range map[string][]string{"unknown": unknown, "revoked": revoked} {
		t.Run(name, func(t *testing.T) {
			sameAllocs(t, h, known, others)
			if *timingPairs == 0 {
				return
			}
			for try := 1; ; try++ {
				least, most := compareRefusals(t, h, known, others)
				if least >= 1-sameTime && most <= 1+sameTime {
					return
				}
				if try == timingTries {
					t.Fatalf("a known token is refused in %.3f to %.3f of the time of another, expected 1 within %.2f", least, most, sameTime)
				}
			}
		})
	}
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// refuse presents timedCalls invalid tokens and returns the time that their refusal took.
func refuse(t *testing.T, h *hub.Hub, shown []string, from int) time.Duration {
	start := time.Now()
	for i := range timedCalls {
		if _, err := h.Authenticate(t.Context(), shown[(from+i)%len(shown)], ""); err == nil {
			t.Fatal("it is let in")
		}
	}
	return time.Since(start)
}

func sameAllocs(t *testing.T, h *hub.Hub, known, others []string) {
	allocs := func(shown []string) float64 {
		return testing.AllocsPerRun(100, func() { _, _ = h.Authenticate(t.Context(), shown[0], "") })
	}
	if a, b := allocs(known), allocs(others); a != b {
		t.Errorf("the refusal of a known token allocates %.0f times, that of another %.0f times", a, b)
	}
}

// compareRefusals returns the confidence interval of the ratio of the times of a known and an
// unknown token.
func compareRefusals(t *testing.T, h *hub.Hub, known, others []string) (least, most float64) {
	ratios := make([]float64, 0, *timingPairs)
	for i := range *timingPairs {
		from := rand.N(len(known))
		var a, b time.Duration
		if i%2 == 0 {
			a = refuse(t, h, known, from)
			b = refuse(t, h, others, from)
		} else {
			b = refuse(t, h, others, from)
			a = refuse(t, h, known, from)
		}
		ratios = append(ratios, float64(a)/float64(b))
	}
	slices.Sort(ratios)
	n := float64(len(ratios))
	far := int(3.3 * math.Sqrt(n) / 2) // 99.9 % of the time the median of all such ratios is no more places away
	middle := len(ratios) / 2
	if middle-far < 0 || middle+far >= len(ratios) {
		t.Fatalf("%d pairs are too few", len(ratios))
	}
	least, most = ratios[middle-far], ratios[middle+far]
	t.Logf("a known token is refused in %.3f (%.3f to %.3f) of the time of another, by %d pairs of %d", ratios[middle],
		least, most, len(ratios), timedCalls)
	return least, most
}
