package stats

import (
	"testing"

	"github.com/parleyhub/parley"
)

func TestDurationsText(t *testing.T) {
	t.Parallel()
	bounds := []float64{0.5, 10}
	for _, c := range []struct {
		d    parley.Durations
		want string
	}{
		{parley.Durations{BoundsMs: bounds, Buckets: []int64{0, 0}}, "none"},
		{parley.Durations{Count: 1, BoundsMs: bounds, Buckets: []int64{1, 1}},
			"1; half of them within 0.5 ms, 99 of 100 within 0.5 ms"},
		{parley.Durations{Count: 100, BoundsMs: bounds, Buckets: []int64{49, 99}},
			"100; half of them within 10 ms, 99 of 100 within 10 ms"},
		{parley.Durations{Count: 100, BoundsMs: bounds, Buckets: []int64{50, 98}},
			"100; half of them within 0.5 ms, 99 of 100 over 10 ms"},
		{parley.Durations{Count: 2}, "2; half of them not known, 99 of 100 not known"}, // of a hub that says it otherwise
	} {
		if got := durationsText(&c.d); got != c.want {
			t.Errorf("%+v: %q, expected %q", c.d, got, c.want)
		}
	}
}

func TestBytesText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1.0 KiB",
		1536 << 10: "1.5 MiB", 3 << 40: "3.0 TiB", 4096 << 40: "4096.0 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, expected %q", n, got, want)
		}
	}
}

func TestCountsText(t *testing.T) {
	t.Parallel()
	got := countsText(map[string]int64{"never": 0, "not_found": 2, "internal": 2, "for\nged": 1, "forbidden": 12})
	if want := `12 forbidden, 2 internal, 2 not_found, 1 for\nged`; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}
