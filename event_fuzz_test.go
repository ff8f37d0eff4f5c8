package parley

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// FuzzEvent: a decoded event keeps its bytes, and its fields are the same after encoding and decoding
// them again.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{
		`{"seq":7,"turn":3,"type":"message","from":"clinic","at":"2026-11-20T09:00:00.000Z","finality":"turn","payload":{"text":"Hello"},"clientRequestId":"r-1"}`,
		`{"seq":1,"type":"system","from":"hub","at":"2026-11-20T09:00:00.000Z","payload":{"kind":"conversation_created","participants":[{"id":"a","kind":"agent"}]}}`,
		`{"seq":2,"turn":1,"type":"trace","from":"a","at":"2026-11-20T09:00:00Z","payload":{"kind":"k","n":1e999,"<":"\u003c\ud800"},"later":[1,{"x":null}]}`,
		`{"seq":9007199254740993,"SEQ":1,"type":"x","from":"","at":"9999-12-31T23:59:59.999999999+23:59","outcome":{"status":"completed"},"turnHint":{"next":"b"},"payload":null}`,
		`{"at":"0000-01-01T00:00:00Z","payload":"\u0000"}`, `{}`, `null`, `[]`, ` {"seq" : 1 } `, `{"seq":-1}`,
		`{"payload":{"result":{"exit_code":1}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Event
		if json.Unmarshal(b, &e) != nil {
			return
		}
		if raw := e.Raw(); raw != nil && !bytes.Equal(raw, bytes.TrimSpace(b)) {
			t.Fatalf("%q is kept as %q", b, raw)
		}
		_, _ = e.Message() // no payload makes them panic
		_, _ = e.System()
		e.Closes()
		once, err := e.Encode()
		if err != nil {
			return // no payload, or a time that cannot be written
		}
		var again Event
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%q is written as %q, which is none: %v", b, once, err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q is written as %q, and then as %q, %v", b, once, twice, err)
		}
	})
}

// FuzzTimestamp: a time that is read is written so that it is read as the same.
func FuzzTimestamp(f *testing.F) {
	for _, text := range []string{"2026-11-20T09:00:00.000Z", "2026-11-20T09:00:00Z", "2026-02-29T00:00:00Z",
		"2026-11-20T09:00:00.123456789+05:30", "0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-23:59",
		"2026-11-20T24:00:00Z", "2026-11-20", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var at Timestamp
		if at.UnmarshalText([]byte(text)) != nil {
			return
		}
		said, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || at != TimestampOf(said) {
			t.Fatalf("%q is read as %d", text, at)
		}
		if year := at.Time().Year(); year < 0 || year > 9999 {
			return // by its offset; there are four digits only
		}
		written, err := at.MarshalText()
		var again Timestamp
		if err != nil || again.UnmarshalText(written) != nil || again != at || string(written) != at.String() {
			t.Fatalf("%q is written as %q and read as %d, %v", text, written, again, err)
		}
	})
}
