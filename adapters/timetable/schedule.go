package timetable

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the machine may have no time zone database

	"github.com/netresearch/go-cron"
)

// parser accepts the five fields of cron, and @hourly and the like.
var parser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

var (
	errCron = errors.New("expected minute, hour, day of month, month and day of week, such as \"30 7 * * mon-fri\", " +
		"or @hourly, @daily, @weekly, @monthly, @yearly")
	errTimezone = errors.New("expected the name of a time zone, such as Europe/Berlin; absent, UTC")
)

// maxYears is the maximum distance of a due time.
const maxYears = 8 // a leap day can be that far away

// schedule computes the due times of an entry.
type schedule struct {
	cron *cron.SpecSchedule
	at   *time.Location
}

// newSchedule parses a line of cron, for a time zone.
func newSchedule(line, timezone string) (*schedule, error) {
	at, err := zone(timezone)
	if err != nil {
		return nil, err
	}
	// @every depends on its start, and TZ= duplicates timezone
	if strings.HasPrefix(line, "@every") || strings.Contains(line, "TZ=") {
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
	if err != nil || name == "Local" { // Local differs between machines
		return nil, errTimezone
	}
	return at, nil
}

// CheckTimezone returns an error unless name is a time zone. An empty name is UTC.
func CheckTimezone(name string) error {
	_, err := zone(name)
	return err
}

// CheckCron returns an error for an invalid line of cron, and for one that is never due.
func CheckCron(line string) error {
	s, err := newSchedule(line, "")
	if err == nil && s.next(time.Now()).IsZero() {
		err = errors.New("expected a time that comes: it is never due")
	}
	return err
}

// next returns the first due time after t in UTC, or zero if none exists. When clocks are put
// back, an entry for certain hours is due at the first occurrence, and an hourly entry at both.
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

// hourly reports whether it is due in every hour.
func (s *schedule) hourly() bool {
	const hours = 1<<24 - 1
	return s.cron.Hour&hours == hours
}

// again reports whether the clock has shown the local time before, because it was put back.
func again(t time.Time) bool {
	began, _ := t.ZoneBounds()
	if began.IsZero() {
		return false
	}
	_, offset := t.Zone()
	_, before := began.Add(-time.Second).Zone()
	return t.Add(time.Duration(offset-before)*time.Second).Before(began) && before > offset
}

// last returns the last due time after from and not after now, or zero if none exists.
func (s *schedule) last(from, now time.Time) (due time.Time) {
	for t := s.next(from); !t.IsZero() && !t.After(now); t = s.next(t) {
		due = t
	}
	return due
}
