package parley

import (
	"fmt"
	"time"
)

// Timestamp is a hub time in Unix milliseconds. In JSON it is an RFC 3339 string in UTC that always
// has three digits of fraction: "2026-11-20T09:00:00.000Z".
type Timestamp int64

const timestampLayout = "2006-01-02T15:04:05.000Z"

// TimestampOf returns t, truncated to the millisecond.
func TimestampOf(t time.Time) Timestamp { return Timestamp(t.UnixMilli()) }

// Time returns the timestamp as a time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

func (t Timestamp) String() string { return t.Time().Format(timestampLayout) }

// MarshalText writes the RFC 3339 form.
func (t Timestamp) MarshalText() ([]byte, error) {
	return t.Time().AppendFormat(nil, timestampLayout), nil
}

// UnmarshalText reads any RFC 3339 time and truncates it to the millisecond.
func (t *Timestamp) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("timestamp %q: expected RFC 3339 such as %s", b, timestampLayout)
	}
	*t = TimestampOf(v)
	return nil
}
