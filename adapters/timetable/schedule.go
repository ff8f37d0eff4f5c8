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

// schedule gives the times at which an entry is due.
type schedule struct {
	cron *cron.SpecSchedule
	at   *time.Location
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
	spec.Location = at
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

// next gives the first due time after t, in UTC; zero where there is none. Where clocks are put back, what is due at certain hours is due when the clock shows them
// first, and what is due in every hour in both.
func (s *schedule) next(t time.Time) time.Time {
	due := s.cron.Next(t)
	for !due.IsZero() && !s.hourly() && again(due.In(s.at)) {
		due = s.cron.Next(due)
	}
	if due.IsZero() {
		return due
	}
	return due.UTC()
}

// hourly tells whether it is due in every hour.
func (s *schedule) hourly() bool {
	const hours = 1<<24 - 1
	return s.cron.Hour&hours == hours
}

// again tells whether a clock that was put back has shown a time before.
func again(t time.Time) bool {
	began, _ := t.ZoneBounds()
	if began.IsZero() {
		return false
	}
	_, offset := t.Zone()
	_, before := began.Add(-time.Second).Zone()
	return t.Add(time.Duration(offset-before)*time.Second).Before(began) && before > offset
}

// last gives the last due time after from that is not after now; zero where there is none.
func (s *schedule) last(from, now time.Time) (due time.Time) {
	for t := s.next(from); !t.IsZero() && !t.After(now); t = s.next(t) {
		due = t
	}
	return due
}
