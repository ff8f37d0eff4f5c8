package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/golden"
)

// seats are those of most tests.
func seats() []parley.Participant {
	return []parley.Participant{
		{ID: "payer", Kind: parley.KindAgent, Role: "reviewer", Private: "secret"},
		{ID: "clinic", Kind: parley.KindAgent, Role: "requester"},
		{ID: "anna", Kind: parley.KindHuman, Role: "nurse"},
		{ID: "lab.north", Kind: parley.KindTool},
	}
}

// ended returns a turn of from that ended with a text.
func ended(p parley.Policy, from, text string) *policy.Ended {
	return &policy.Ended{
		Policy: p, Seats: seats(), From: from, Turn: 3, Turns: 3, Autonomous: 2, Counts: []int64{1, 1, 1, 0},
		Payload: message(parley.Message{Text: text}),
	}
}

func message(m parley.Message) json.RawMessage {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// refused holds an error against the sentinel, a piece of its message and of what it says it expected.
func refused(t *testing.T, err error, message, expected string) {
	t.Helper()
	var e *parley.Error
	if !errors.As(err, &e) || !errors.Is(err, parley.ErrValidationFailed) {
		t.Fatalf("got %v, want validation_failed with %q", err, message)
	}
	if !strings.Contains(e.Message, message) || !strings.Contains(e.Expected, expected) {
		t.Errorf("got %q (expected %q), want %q (expected %q)", e.Message, e.Expected, message, expected)
	}
}

// compareLines compares lines with a file of testdata.
func compareLines(t *testing.T, name string, lines []string) {
	t.Helper()
	golden.Compare(t, "testdata/"+name+".golden", strings.Join(lines, "\n")+"\n")
}
