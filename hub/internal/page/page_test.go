package page_test

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/journal"
)

// checkRefusal checks that err is ErrValidationFailed with a message, or nil for an empty message.
func checkRefusal(t *testing.T, err error, message string) {
	t.Helper()
	if message == "" {
		if err != nil {
			t.Errorf("got error %v, want none", err)
		}
		return
	}
	var refusal *parley.Error
	if !errors.As(err, &refusal) || refusal.Err != parley.ErrValidationFailed || refusal.Message != message {
		t.Errorf("got error %v, want validation_failed with %q", err, message)
	}
	if refusal != nil && refusal.Expected == "" {
		t.Errorf("%v names nothing that is expected", err)
	}
}

func TestCheckLimit(t *testing.T) {
	for name, test := range map[string]struct {
		limit, maximum, preset int
		want                   int
		message                string
	}{
		"absent":            {limit: 0, maximum: 10, preset: 7, want: 7},
		"least":             {limit: 1, maximum: 10, preset: 7, want: 1},
		"below the preset":  {limit: 3, maximum: 10, preset: 7, want: 3},
		"above the preset":  {limit: 9, maximum: 10, preset: 7, want: 9},
		"most":              {limit: 10, maximum: 10, preset: 7, want: 10},
		"above the maximum": {limit: 11, maximum: 10, preset: 7, message: "limit is 11"},
		"negative":          {limit: -1, maximum: 10, preset: 7, message: "limit is -1"},
		"least integer":     {limit: math.MinInt, maximum: 10, preset: 7, message: "limit is -9223372036854775808"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := page.CheckLimit(test.limit, test.maximum, test.preset)
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			checkRefusal(t, err, test.message)
		})
	}
}

func TestCursorRoundTrip(t *testing.T) {
	for _, at := range []journal.Position{0, 1, 42, math.MaxInt64, math.MaxUint64} {
		for _, newest := range []bool{false, true} {
			cursor := page.FormatCursor(at, newest)
			if got, err := page.ParseCursor(cursor, newest); err != nil || got != at {
				t.Errorf("%q: got %d, %v, want %d", cursor, got, err, at)
			}
			_, err := page.ParseCursor(cursor, !newest)
			checkRefusal(t, err, "cursor is not one of this hub's")
		}
	}
}

func TestParseCursor(t *testing.T) {
	const refused = "cursor is not one of this hub's"
	for name, test := range map[string]struct {
		cursor  string
		newest  bool
		want    journal.Position
		message string
	}{
		"empty":                  {cursor: ""},
		"empty, from the newest": {cursor: "", newest: true},
		"oldest first":           {cursor: "17", want: 17},
		"newest first":           {cursor: "n17", newest: true, want: 17},
		"of the other order":     {cursor: "17", newest: true, message: refused},
		"only the mark":          {cursor: "n", newest: true, message: refused},
		"two marks":              {cursor: "nn1", newest: true, message: refused},
		"negative":               {cursor: "-1", message: refused},
		"signed":                 {cursor: "+1", message: refused},
		"hexadecimal":            {cursor: "0x11", message: refused},
		"separators":             {cursor: "1_0", message: refused},
		"space":                  {cursor: " 1", message: refused},
		"beyond 64 bits":         {cursor: "18446744073709551616", message: refused},
		"text":                   {cursor: "next", message: refused},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := page.ParseCursor(test.cursor, test.newest)
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			checkRefusal(t, err, test.message)
		})
	}
}

func TestWaitTimer(t *testing.T) {
	const longest = parley.MaxWaitMs * time.Millisecond
	for name, test := range map[string]struct {
		timeoutMs int64
		want      time.Duration
		message   string
	}{
		"at once":           {timeoutMs: 0, want: 0},
		"shortest":          {timeoutMs: 1, want: time.Millisecond},
		"below the maximum": {timeoutMs: parley.MaxWaitMs - 1, want: longest - time.Millisecond},
		"maximum":           {timeoutMs: parley.MaxWaitMs, want: longest},
		"above the maximum": {timeoutMs: parley.MaxWaitMs + 1, want: longest},
		"largest integer":   {timeoutMs: math.MaxInt64, want: longest},
		"negative":          {timeoutMs: -1, message: "timeoutMs is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				timer, err := page.WaitTimer(test.timeoutMs)
				checkRefusal(t, err, test.message)
				if (timer == nil) != (test.message != "") {
					t.Fatalf("got timer %v and error %v", timer, err)
				}
				if timer == nil {
					return
				}
				<-timer.C
				if got := time.Since(start); got != test.want { // the time of the bubble is exact
					t.Errorf("waited %v, want %v", got, test.want)
				}
			})
		})
	}
}
