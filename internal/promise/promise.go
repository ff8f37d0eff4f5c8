// Package promise is how tests say which of Parley's promises they have tried to break, and how
// hard.
//
// Each test that attacks a promise ends with Kept, or says with Left why it could not try. Both
// print one line of a fixed form, which torture/summary gathers from the output of go test: one row
// for each promise.
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

// Tried says how hard a test has tried.
type Tried struct {
	// Faults is how often something was broken on purpose: a kill, a cut, a failed write, a crash of a
	// simulation.
	Faults int `json:"faults"`
	// Operations is how many acknowledged operations, events or looks were held against the promise.
	Operations int `json:"operations"`
	// Unknown is how many operations had an outcome that their caller could not know; they were
	// checked as such.
	Unknown int `json:"unknown,omitempty"`
	// Violations is how often the promise was broken. More than 0 fails the test.
	Violations int `json:"violations"`
	// Figure is one measured figure that belongs to the promise, as "slowest takeover 1.2 s"; may be
	// empty.
	Figure string `json:"figure,omitempty"`
}

// Line is what a test has to say of one promise.
type Line struct {
	Promise string `json:"promise"`
	Test    string `json:"test"`
	Tried
	// Left is why the promise was not tried; empty if it was.
	Left string `json:"left,omitempty"`
}

// Mark stands before each Line, which is JSON and ends with the line of output.
const Mark = "promise: "

// Kept says how hard the test has tried to break a promise. A test that broke it fails, and so does
// one that tried nothing.
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

// Broken is 1 for a test that has failed already: its Violations, where it does not count them.
func Broken(t testing.TB) int {
	if t.Failed() {
		return 1
	}
	return 0
}

// Left leaves the test out and says why these promises are not tried by it here.
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
