package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/parleyhub/parley"
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
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, expected %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\x07\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanLines(s, "  ", 40)
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
	got := cleanLines("one two three four five six seven eight nine ten eleven", "| ", 30)
	if want := "one two three four five six\n| seven eight nine ten eleven"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	long := strings.Repeat("x", 100)
	if got := cleanLines(long, "| ", 30); got != long {
		t.Errorf("a word too long for the line was broken: %q", got)
	}
}

// TestNoColourWithoutTerminal holds colours back from everything that is no terminal.
func TestNoColourWithoutTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := newStream(&b)
	s.line(s.paint(styleError, "x"))
	if b.String() != "x\n" {
		t.Errorf("%q", b.String())
	}
	s.colour = true
	if got := s.paint(styleSpeakers+7, "x"); !strings.Contains(got, "\x1b[") {
		t.Errorf("%q has no colour", got)
	}
}

// TestExitCodes holds every error of the protocol to its exit code and to something to do next where that can be said.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"parameter_validation_failed": exitUsage,
		"not_found":                   exitNotFound, "unauthenticated": exitAuth, "forbidden": exitAuth,
		"not_your_turn": exitConflict, "turn_closed": exitConflict, "conversation_closed": exitConflict, "turn_conflict": exitConflict,
		"claim_required": exitConflict, "claim_lost": exitConflict,
		"idempotency_conflict": exitConflict, "already_exists": exitConflict, "already_resolved": exitConflict,
		"rate_limited": exitUnavailable, "unavailable": exitUnavailable, "outcome_unknown": exitUnavailable, "storage_full": exitUnavailable,
	}
	for _, row := range parley.Errors {
		err := fmt.Errorf("dial: %w", parley.Refuse(row.Err, "because", ""))
		f := failureOf(context.Background(), err)
		expected, ok := want[row.Reason()]
		if !ok {
			expected = exitFailure
		}
		if f.exit != expected || f.Reason != row.Reason() || f.Code != row.Code {
			t.Errorf("%s: exit code %d, reason %s, code %d; expected exit code %d", row.Reason(), f.exit, f.Reason, f.Code, expected)
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
		{usagef("no"), "usage", exitUsage},
		{withHint(errTimeout, "wait"), "timeout", exitUnavailable},
		{fmt.Errorf("open: %w", journal.ErrInUse), "in_use", exitFailure},
		{&journal.DamageError{What: "checksum"}, "damaged", exitFailure},
		{errors.New("else"), "failed", exitFailure},
	} {
		if f := failureOf(context.Background(), c.err); f.exit != c.exit || f.Reason != c.reason {
			t.Errorf("%v: exit code %d, reason %s; expected %d, %s", c.err, f.exit, f.Reason, c.exit, c.reason)
		}
	}
}

// TestErrorIsOneLine: whatever a peer puts into an error.
func TestErrorIsOneLine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	a := &app{err: newStream(&b)}
	a.report(context.Background(), parley.Refuse(parley.ErrForbidden, "no\nparley: ok\x1b[2J", ""))
	if strings.Count(b.String(), "\n") != 1 || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}
