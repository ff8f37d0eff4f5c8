package sse_test

import (
	"fmt"
	"testing"

	"github.com/parleyhub/parley/internal/sse"
)

func TestAppend(t *testing.T) {
	b := sse.AppendRetry(nil, 1000)
	b = sse.Append(b, sse.Message{ID: "7", Data: []byte(`{"seq":7}`)})
	b = sse.AppendComment(b)
	b = sse.Append(b, sse.Message{Name: "caught_up", Data: []byte("a\nb")})
	b = sse.Append(b, sse.Message{ID: "8"})
	const want = "retry: 1000\n\nid: 7\ndata: {\"seq\":7}\n\n:\n\nevent: caught_up\ndata: a\ndata: b\n\nid: 8\n\n"
	if string(b) != want {
		t.Errorf("%q", b)
	}
}

func TestParseSeq(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "7": 7, "9007199254740991": 1<<53 - 1} {
		if got, ok := sse.ParseSeq(s); !ok || got != want {
			t.Errorf("%q: %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", " ", "-1", "+1", "01", "1 ", " 1", "1.0", "1e3", "0x1", "1_0", "9007199254740992",
		"18446744073709551616", "abc", "1\n", "٣"} {
		if got, ok := sse.ParseSeq(s); ok {
			t.Errorf("%q is taken as %d", s, got)
		}
	}
}

// FuzzParseSeq checks that each accepted Last-Event-ID is one that the hub can write.
func FuzzParseSeq(f *testing.F) {
	for _, s := range []string{"0", "7", "9007199254740991", "9007199254740992", "-0", "1e1", " 1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := sse.ParseSeq(s); ok && (n < 0 || n > 1<<53-1 || fmt.Sprint(n) != s) {
			t.Errorf("%q is taken as %d", s, n)
		}
	})
}
