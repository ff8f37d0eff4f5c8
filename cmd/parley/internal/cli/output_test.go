package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub/journal"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ünïcode 🙂":           "plain ünïcode 🙂",
		"red \x1b[31m":              `red \x1b[31m`,
		"up\r\x08over":              `up\x0d\x08over`,
		"c1 \u009b2J":               `c1 \x9b2J`,
		"two\nlines\tand a tab":     `two\nlines\tand a tab`,
		"turned \u202eback":         `turned \u202eback`,
		"sep\u2028arator":           `sep\u2028arator`,
		"zero\u200bwidth":           `zero\u200bwidth`,
		"family 👩\u200d👧":           "family 👩\u200d👧",
		"bad \xff utf8":             `bad \xff utf8`,
		"a real \uFFFD replacement": "a real \uFFFD replacement",
	} {
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, expected %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\x07\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := CleanLines(s, "  ", 40)
		for _, r := range strings.ReplaceAll(got, "\n  ", "") {
			if r != '\u200c' && r != '\u200d' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%q lets %q through: %q", s, r, got)
			}
		}
		for i, l := range strings.Split(got, "\n") {
			if i > 0 && !strings.HasPrefix(l, "  ") {
				t.Fatalf("%q: line %d is not indented: %q", s, i, l)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	t.Parallel()
	got := CleanLines("one two three four five six seven eight nine ten eleven", "| ", 30)
	if want := "one two three four five six\n| seven eight nine ten eleven"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	long := strings.Repeat("x", 100)
	if got := CleanLines(long, "| ", 30); got != long {
		t.Errorf("a word too long for the line was broken: %q", got)
	}
}

// TestNoColourWithoutTerminal holds colours back from everything that is no terminal.
func TestNoColourWithoutTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := NewStream(&b)
	s.Line(s.Paint(StyleError, "x"))
	if b.String() != "x\n" {
		t.Errorf("%q", b.String())
	}
	s.Color = true
	if got := s.Paint(StyleSpeakers+7, "x"); !strings.Contains(got, "\x1b[") {
		t.Errorf("%q has no colour", got)
	}
}

// TestExitCodes holds every error of the protocol to its exit code and to something to do next
// where that can be said.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"parameter_validation_failed": exit.CodeUsage,
		"not_found":                   exit.CodeNotFound, "unauthenticated": exit.CodeAuth, "forbidden": exit.CodeAuth,
		"not_your_turn": exit.CodeConflict, "turn_closed": exit.CodeConflict, "conversation_closed": exit.CodeConflict,
		"turn_conflict":  exit.CodeConflict,
		"claim_required": exit.CodeConflict, "claim_lost": exit.CodeConflict,
		"idempotency_conflict": exit.CodeConflict, "already_exists": exit.CodeConflict, "already_resolved": exit.CodeConflict,
		"rate_limited": exit.CodeUnavailable, "unavailable": exit.CodeUnavailable, "outcome_unknown": exit.CodeUnavailable,
		"storage_full": exit.CodeUnavailable,
	}
	for _, row := range parley.Errors {
		err := fmt.Errorf("dial: %w", parley.Refuse(row.Err, "because", ""))
		f := exit.FailureOf(context.Background(), err)
		expected, ok := want[row.Reason()]
		if !ok {
			expected = exit.CodeFailure
		}
		if f.Exit != expected || f.Reason != row.Reason() || f.Code != row.Code {
			t.Errorf("%s: exit code %d, reason %s, code %d; expected exit code %d", row.Reason(), f.Exit, f.Reason, f.Code,
				expected)
		}
		if ok && f.Hint == "" {
			t.Errorf("%s: no hint", row.Reason())
		}
	}
	for _, c := range []struct {
		err    error
		reason string
		exit   int
	}{
		{exit.Usagef("no"), "usage", exit.CodeUsage},
		{exit.WithHint(exit.ErrTimeout, "wait"), "timeout", exit.CodeUnavailable},
		{fmt.Errorf("open: %w", journal.ErrInUse), "in_use", exit.CodeFailure},
		{&journal.DamageError{What: "checksum"}, "damaged", exit.CodeFailure},
		{errors.New("else"), "failed", exit.CodeFailure},
	} {
		if f := exit.FailureOf(context.Background(), c.err); f.Exit != c.exit || f.Reason != c.reason {
			t.Errorf("%v: exit code %d, reason %s; expected %d, %s", c.err, f.Exit, f.Reason, c.exit, c.reason)
		}
	}
}

// TestErrorIsOneLine: whatever a peer puts into an error.
func TestErrorIsOneLine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	a := &App{Err: NewStream(&b)}
	a.Report(context.Background(), parley.Refuse(parley.ErrForbidden, "no\nparley: ok\x1b[2J", ""))
	if strings.Count(b.String(), "\n") != 1 || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}
