// Package page checks the parameters that all paged and waiting methods have: limit, cursor and
// timeoutMs.
package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// Bounds of the limit of methods that list conversations.
const (
	MaxSummaries    = 100
	PresetSummaries = 50
)

// CheckLimit returns limit, or preset for 0. It refuses a limit below 0 or above maximum.
func CheckLimit(limit, maximum, preset int) (int, error) {
	switch {
	case limit == 0:
		return preset, nil
	case limit < 0 || limit > maximum:
		return 0, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("limit is %d", limit), fmt.Sprintf("1 to %d", maximum))
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
		return 0, parley.Refuse(parley.ErrValidationFailed, "cursor is not one of this hub's",
			"nextCursor of the page before, with params that are otherwise the same")
	}
	return journal.Position(n), nil
}

// WaitTimer returns a timer for a timeoutMs of at most parley.MaxWaitMs, which bounds it.
func WaitTimer(timeoutMs int64) (*time.Timer, error) {
	if timeoutMs < 0 {
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("timeoutMs is %d", timeoutMs), fmt.Sprintf("0 to %d", parley.MaxWaitMs))
	}
	return time.NewTimer(time.Duration(min(timeoutMs, parley.MaxWaitMs)) * time.Millisecond), nil
}
