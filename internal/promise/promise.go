// Package promise reports which of Parley's promises a test attacked, and how often.
//
// Each test that attacks a promise ends with Kept, or calls Left with the reason why it could not.
// Both print one line in a fixed format. torture/summary collects these lines from the output of go
// test into one row per promise.
package promise

import (
	"encoding/json"
	"fmt"
	"testing"
)

// ID names a promise: P1 to P23 of docs/concepts/guarantees.md.
type ID int

// Last is the highest ID.
const Last ID = 23

func (id ID) String() string { return fmt.Sprintf("P%d", int(id)) }

// Tried has the counts of one attack on a promise.
type Tried struct {
	// Faults is the number of injected faults: kills, cut connections, failed writes, simulated
	// crashes.
	Faults int `json:"faults"`
	// Operations is the number of acknowledged operations, events or reads that were checked against
	// the promise.
	Operations int `json:"operations"`
	// Unknown is the number of operations whose outcome the caller cannot know. The check accepts both
	// outcomes.
	Unknown int `json:"unknown,omitempty"`
	// Violations is the number of violations. More than 0 fails the test.
	Violations int `json:"violations"`
	// Figure is one measurement that belongs to the promise, such as "slowest takeover 1.2 s", or
	// empty.
	Figure string `json:"figure,omitempty"`
}

// Line is the report of a test on one promise.
type Line struct {
	Promise string `json:"promise"`
	Test    string `json:"test"`
	Tried
	// Left is the reason why the promise was not attacked, or empty.
	Left string `json:"left,omitempty"`
}

// Mark precedes each Line. A Line is JSON and ends with the line of output.
const Mark = "promise: "

// Kept reports the attack on a promise. It fails the test if the promise was broken, or if nothing
// was tried.
func (id ID) Kept(t testing.TB, tried Tried) {
	t.Helper()
	write(t, Line{Promise: id.String(), Test: t.Name(), Tried: tried})
	switch {
	case tried.Violations > 0:
		t.Errorf("%s was broken %d times", id, tried.Violations)
	case tried.Operations <= 0:
		t.Errorf("%s: the run checked nothing, so it proves nothing", id)
	}
}

// Broken returns 1 if the test has already failed. Use it for Violations in tests that do not count
// them.
func Broken(t testing.TB) int {
	if t.Failed() {
		return 1
	}
	return 0
}

// Left skips the test and reports the reason for each of its promises.
func Left(t testing.TB, why string, ids ...ID) {
	t.Helper()
	for _, id := range ids {
		write(t, Line{Promise: id.String(), Test: t.Name(), Left: why})
	}
	t.Skip("left out: " + why)
}

func write(t testing.TB, l Line) {
	t.Helper()
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(Mark + string(b))
}
