package timetable

import (
	"fmt"
	"testing"
	"time"
)

// TestSchedule_Gaps checks times that a clock leaves out when it is put forward.
func TestSchedule_Gaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, cron, from, want string }{
		{"America/Santiago", "0 0 * * *", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
		{"America/Santiago", "@daily", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"},
		{"America/Santiago", "@weekly", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"}, // a Sunday
		{"Asia/Beirut", "30 0 * * *", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z"},
		{"Africa/Cairo", "0 0 24 4 *", "2026-01-01T00:00:00Z", "2026-04-23T22:00:00Z"},
		{"America/Havana", "59 0 * * sun", "2026-03-08T04:00:00Z", "2026-03-08T05:00:00Z"},
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "*/10 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "*/10 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
		{"Europe/Berlin", "30 * * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}, // due in every hour that there is
		{"Europe/Berlin", "30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"}, // 02:30 is shown twice
		{"Asia/Beirut", "0 * * * sun", "2026-03-28T20:00:00Z", "2026-03-28T22:00:00Z"},  // 00:00 is not shown, 01:00 is
		{"Asia/Beirut", "*/15 * 29 3 *", "2026-03-28T22:00:00Z", "2026-03-28T22:15:00Z"},
		{"Africa/Cairo", "0 * * * fri", "2026-04-23T20:00:00Z", "2026-04-23T22:00:00Z"},
		{"Pacific/Apia", "0 12 30 12 *", "2011-12-29T00:00:00Z", "2011-12-30T10:00:00Z"}, // a day that there is not
		{"America/Havana", "30 0 * * *", "2026-11-01T04:00:00Z", "2026-11-01T04:30:00Z"},
		{"America/Havana", "30 0 * * *", "2026-11-01T04:30:00Z", "2026-11-02T05:30:00Z"}, // 00:30 is shown twice
		{"Europe/Berlin", "0 3 * * *", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"},
	} {
		s, err := newSchedule(c.cron, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.next(from).Format(time.RFC3339); got != c.want {
			t.Errorf("%s in %s after %s is due at %s, expected %s", c.cron, c.zone, c.from, got, c.want)
		}
	}
}

// TestSchedule_OnceADay checks that a daily entry is due once on each day of a year, whatever the zone and time.
func TestSchedule_OnceADay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{
		"", "Africa/Cairo", "America/Havana", "America/New_York", "America/Santiago", "America/St_Johns",
		"Asia/Beirut", "Asia/Kathmandu", "Australia/Lord_Howe", "Europe/Berlin", "Europe/Dublin", "Pacific/Chatham",
	} {
		for hour := range 24 {
			for _, minute := range []int{0, 15, 45} {
				s, err := newSchedule(fmt.Sprintf("%d %d * * *", minute, hour), zone)
				if err != nil {
					t.Fatal(err)
				}
				day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				at := time.Date(2025, 12, 31, 23, 59, 59, 0, s.zone)
				for range 365 {
					at = s.next(at)
					want := day.Format(time.DateOnly)
					if got := at.In(s.zone).Format(time.DateOnly); got != want {
						t.Fatalf("%02d:%02d in %s: due at %s, expected %s", hour, minute, zone, at.In(s.zone), want)
					}
					day = day.AddDate(0, 0, 1)
				}
			}
		}
	}
}
