package policy_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// seats are those of most tests.
func seats() []parley.Participant {
	return []parley.Participant{
		{ID: "payer", Kind: parley.KindAgent, Role: "reviewer", Private: "secret"},
		{ID: "clinic", Kind: parley.KindAgent, Role: "requester"},
		{ID: "anna", Kind: parley.KindHuman, Role: "nurse"},
		{ID: "lab.north", Kind: parley.KindTool},
	}
}

// ended is a turn of from that has ended with a text.
func ended(p parley.Policy, from, text string) *policy.Ended {
	return &policy.Ended{
		Policy: p, Seats: seats(), From: from, Turn: 3, Turns: 3, Autonomous: 2, Counts: []int64{1, 1, 1, 0}, Payload: message(parley.Message{Text: text}),
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

// golden holds lines against a file of testdata.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	file := fmt.Sprintf("testdata/%s.golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
