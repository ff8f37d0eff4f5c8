package timetable

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a program may run where there is no such database

	"github.com/netresearch/go-cron"
)

// parser takes the five fields of cron, and @hourly and the like.
var parser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

var (
	errCron     = errors.New("expected minute, hour, day of month, month and day of week, such as \"30 7 * * mon-fri\", or @hourly, @daily, @weekly, @monthly, @yearly")
	errTimezone = errors.New("expected the name of a time zone, such as Europe/Berlin; absent, UTC")
)

// maxYears is how far ahead a due time may be.
const maxYears = 8 // a leap day can be that far

// schedule computes the times at which an entry is due. It is safe for concurrent use.
type schedule struct {
	// cron runs in UTC, which is used as a clock that has neither gaps nor repeated hours.
	cron *cron.SpecSchedule
	zone *time.Location
}

// newSchedule reads a line of cron, at the clock of a time zone.
func newSchedule(line, timezone string) (*schedule, error) {
	at, err := zone(timezone)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(line, "@every") || strings.Contains(line, "TZ=") { // the first depends on when it began, the other says what timezone does
		return nil, errCron
	}
	s, err := parser.WithMaxSearchYears(maxYears).Parse(line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCron, err)
	}
	spec, ok := s.(*cron.SpecSchedule)
	if !ok {
		return nil, errCron
	}
	spec.Location = time.UTC
	return &schedule{spec, at}, nil
}

func zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	at, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // which would be another on every machine
		return nil, errTimezone
	}
	return at, nil
}

// CheckTimezone refuses what is no name of a time zone; an empty one is UTC.
func CheckTimezone(name string) error {
	_, err := zone(name)
	return err
}

// CheckCron refuses what is no line of cron, and what is never due.
func CheckCron(line string) error {
	s, err := newSchedule(line, "")
	if err == nil && s.next(time.Now()).IsZero() {
		err = errors.New("expected a time that comes: it is never due")
	}
	return err
}

// next returns the first due time after t in UTC. If the entry is never due again, it returns the
// zero time.
//
// An entry for certain hours is due once for each of its times. Where clocks are put back, it is due
// when the clock first shows the time. A time inside a gap is due at the first moment after the gap.
// An entry for every hour is due whenever the clock shows its time.
func (s *schedule) next(t time.Time) time.Time {
	var due time.Time
	if s.isHourly() {
		due = s.nextHourly(t.In(s.zone))
	} else if wall := s.cron.Next(lastShown(t.In(s.zone))); !wall.IsZero() {
		due = firstShown(wall, s.zone)
	}
	if due.IsZero() {
		return due
	}
	return due.UTC()
}

// nextHourly returns the first time after t at which the clock shows a time of cron.
func (s *schedule) nextHourly(t time.Time) time.Time {
	for from := wallTime(t); ; {
		wall := s.cron.Next(from)
		if wall.IsZero() {
			return wall
		}
		due := t.Add(wall.Sub(wallTime(t)))
		_, end := t.ZoneBounds()
		if end.IsZero() || due.Before(end) {
			return due
		}
		t = end.In(s.zone) // the clock is set at end
		from = wallTime(t).Add(-time.Second)
	}
}

// isHourly reports whether the entry is due in every hour.
func (s *schedule) isHourly() bool {
	const hours = 1<<24 - 1
	return s.cron.Hour&hours == hours
}

// wallTime returns what the clock shows at t, as a time in UTC.
func wallTime(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// lastShown returns the latest wall time that the clock has shown up to t, in steps of a second.
func lastShown(t time.Time) time.Time {
	wall := wallTime(t)
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		if before := wallTime(start.Add(-time.Second)); before.After(wall) {
			return before
		}
	}
	return wall
}

// firstShown returns the first moment at which a clock of the zone shows wall or, inside a gap, a later time.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	switch shown := wallTime(t); {
	case shown.Before(wall): // t is before the gap
		return end
	case shown.After(wall):
		return start
	case start.IsZero():
		return t
	}
	if earlier := t.Add(wallTime(start).Sub(wallTime(start.Add(-time.Second))) - time.Second); earlier.Before(start) {
		return earlier // the clock was put back at start
	}
	return t
}

// last returns the last due time in the interval (from, now]. If no time in it is due, last returns
// the zero time.
func (s *schedule) last(from, now time.Time) (due time.Time) {
	for t := s.next(from); !t.IsZero() && !t.After(now); t = s.next(t) {
		due = t
	}
	return due
}
