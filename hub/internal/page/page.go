// Package page checks the parameters that all paged and waiting methods have: limit, cursor and
// timeoutMs.
package page

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal"
)

// Bounds of the limit of methods that list conversations.
const (
	MaxSummaries    = 100
	PresetSummaries = 50
)

// Invalid returns the refusal of params that are not as expected.
func Invalid(expected, format string, args ...any) error {
	return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf(format, args...), expected)
}

// CheckLimit returns limit, or preset for 0. It refuses a limit below 0 or above maximum.
func CheckLimit(limit, maximum, preset int) (int, error) {
	switch {
	case limit == 0:
		return preset, nil
	case limit < 0 || limit > maximum:
		return 0, Invalid(fmt.Sprintf("1 to %d", maximum), "limit is %d", limit)
	}
	return limit, nil
}

// newestMark begins the cursors of a list from the newest to the oldest entry.
const newestMark = "n"

// FormatCursor returns the cursor of a position in a list.
func FormatCursor(at journal.Position, newest bool) string {
	cursor := strconv.FormatUint(uint64(at), 10)
	if newest {
		return newestMark + cursor
	}
	return cursor
}

// ParseCursor parses a cursor of a list in the same order. An empty cursor is position 0, the
// beginning.
func ParseCursor(cursor string, newest bool) (journal.Position, error) {
	if cursor == "" {
		return 0, nil
	}
	number, marked := strings.CutPrefix(cursor, newestMark)
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || marked != newest {
		return 0, Invalid("nextCursor of the page before, with params that are otherwise the same",
			"cursor is not one of this hub's")
	}
	return journal.Position(n), nil
}

// WaitTimer returns a timer for a timeoutMs of at most parley.MaxWaitMs, which bounds it.
func WaitTimer(timeoutMs int64) (*time.Timer, error) {
	if timeoutMs < 0 {
		return nil, Invalid(fmt.Sprintf("0 to %d", parley.MaxWaitMs), "timeoutMs is %d", timeoutMs)
	}
	return time.NewTimer(time.Duration(min(timeoutMs, parley.MaxWaitMs)) * time.Millisecond), nil
}

// Poll calls look at once and after each change, until look is done. look returns the channel that the
// next change closes. After timeoutMs, Poll calls look once more, with timedOut set. It returns the
// refusal of a caller whose token ended.
func Poll(
	ctx context.Context, e *conv.Engine, by conv.Caller, timeoutMs int64,
	look func(timedOut bool) (changed <-chan struct{}, done bool, err error),
) error {
	timer, err := WaitTimer(timeoutMs)
	if err != nil {
		return err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		if err := by.Valid(e.Now()); err != nil {
			return err
		}
		changed, done, err := look(timedOut)
		if err != nil || done || timedOut {
			return err
		}
		if timedOut, err = e.Wait(ctx, by, changed, timer, timeoutMs); err != nil {
			return err
		}
	}
}
