package simulation

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// fault is what a step of the plan breaks.
type fault string

const (
	kill      fault = "kill"      // the hub dies
	killHeld  fault = "kill held" // it dies while what it has decided is not durable
	drain     fault = "drain"     // it is stopped gracefully and started again
	full      fault = "full"      // the next commit finds no room
	unknown   fault = "unknown"   // the next commit fails, and no one knows how far it came: nothing was written
	lose      fault = "lose"      // the same, and all was written
	hold      fault = "hold"      // commits take long
	cutOne    fault = "cut one"   // a connection ends
	cutAll    fault = "cut all"   // all of them do
	cutFrame  fault = "cut frame" // a connection ends after some more bytes
	takeARest fault = "rest"      // everybody rests, for minutes; timers do not
)

// faults are what a step may be, each as often as it shall be drawn.
var faults = []fault{
	kill, kill, kill, killHeld, killHeld, drain, full, full, unknown, lose, lose, hold, hold, cutOne, cutOne, cutAll,
	cutFrame, cutFrame, cutFrame, cutFrame, takeARest,
}

// step is one thing that goes wrong.
type step struct {
	after time.Duration // since the step before
	fault fault
	lasts time.Duration
	which int // connection
	bytes int
	way   int // of the cable
}

func (s step) String() string {
	switch s.fault {
	case cutOne:
		return fmt.Sprintf("%v later: %s, number %d", s.after, s.fault, s.which)
	case cutFrame:
		return fmt.Sprintf("%v later: %s, number %d, after %d bytes %s", s.after, s.fault, s.which, s.bytes,
			[]string{"to the hub", "to the client"}[s.way])
	case cutAll, full:
		return fmt.Sprintf("%v later: %s", s.after, s.fault)
	}
	return fmt.Sprintf("%v later: %s, for %v", s.after, s.fault, s.lasts)
}

// plan is all that a seed decides except what the parties draw as they go.
type plan struct {
	seed  uint64
	steps []step
	pace  time.Duration // between two acts of a party, at most
	turns time.Duration // how long a claim lasts
	// everything says that the readers see all, and not what a participant does.
	everything [2]bool
}

func draw(seed uint64) plan {
	r := randomOf(seed, "plan")
	p := plan{
		seed: seed, pace: pick(r, 40*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond),
		turns:      pick(r, 300*time.Millisecond, time.Second, 3*time.Second),
		everything: [2]bool{r.IntN(2) == 0, r.IntN(2) == 0},
	}
	rest := pick(r, 30*time.Millisecond, 150*time.Millisecond, 500*time.Millisecond)
	for range 12 + r.IntN(6) {
		s := step{
			after: between(r, rest/8, rest), fault: pick(r, faults...), lasts: between(r, 0, 400*time.Millisecond),
			which: r.IntN(64), bytes: r.IntN(600), way: r.IntN(2),
		}
		switch { // limits of time come due meanwhile
		case s.fault == takeARest:
			s.lasts = between(r, time.Second, 10*time.Minute)
		case s.fault == kill && r.IntN(6) == 0:
			s.lasts = between(r, time.Second, 25*time.Second)
		}
		p.steps = append(p.steps, s)
	}
	return p
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: an act every %v at most, claims of %v\n", p.seed, p.pace, p.turns)
	for _, s := range p.steps {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	return b.String()
}

// randomOf returns what a party draws from.
func randomOf(seed uint64, party string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, party)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)+1))
}
