package main

import (
	"testing"

	"github.com/parleyhub/parley"
)

// A line that was not answered and is typed again in its turn keeps its key, so that it is said once; any other gets a new one.
func TestAttemptKeepsItsKey(t *testing.T) {
	t.Parallel()
	p := func(text string, turn int64) *parley.SendMessageParams {
		return &parley.SendMessageParams{Payload: []byte(text), Turn: turn, Finality: parley.FinalityTurn}
	}
	var a attempt
	first := a.key(p("x", 1))
	if a.key(p("x", 1)) != first {
		t.Error("the same line in the same turn got another key")
	}
	other, later := a.key(p("y", 1)), a.key(p("y", 2))
	if other == first || later == other || first == "" {
		t.Errorf("keys %s, %s, %s", first, other, later)
	}
	a = attempt{} // answered
	if a.key(p("y", 2)) == later {
		t.Error("a line that is said again after its answer got the old key")
	}
}
