package bench

import (
	"context"
	"testing"
	"time"
)

// TestLoadsAgainstABareServer holds the loads against a server that answers as it is asked: what
// they count is what it did.
func TestLoadsAgainstABareServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	urls, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- ServeBare(ctx, func(url string) error {
			urls <- url
			return nil
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ServeBare: %v", err)
		}
	}()
	bare := Target{URL: <-urls}

	for _, o := range []LoadOptions{
		{Conns: 1, InFlight: 1, Size: 1, Conversations: 1},
		{Conns: 3, InFlight: 16, Size: 500, Conversations: 5},
		{Conns: 2, InFlight: 2, Size: 100_000, Conversations: 5},
		{Conns: 1, InFlight: 1, Size: 512 << 10, Conversations: 1},
	} {
		l, err := NewLoad(ctx, bare, o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		for range 2 { // the second starts where the first ended
			r, err := l.Append(ctx, 30*time.Millisecond)
			if err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			if r.Ops < o.Conns*o.InFlight || r.PerSecond <= 0 || r.P50Ms <= 0 || r.P99Ms < r.P50Ms {
				t.Errorf("%+v: expected at least %d echoes and their times, got %+v", o, o.Conns*o.InFlight, r)
			}
		}
		l.Close()
	}

	for _, order := range []Order{{Bytes: 60, PerWrite: 1}, {Bytes: 700, PerWrite: 16}, {Bytes: 70_000, PerWrite: 3}} {
		f, err := NewFan(ctx, bare, FanOptions{Subscribers: 5, Size: 1, Bare: order})
		if err != nil {
			t.Fatalf("%+v: %v", order, err)
		}
		for _, events := range []int{1, 17, 40} {
			r, err := f.Burst(ctx, events)
			if err != nil || r.Ops != 5*events || f.FrameBytes() != order.Bytes {
				t.Errorf("%+v: expected %d deliveries, got %+v, of %d bytes: %v", order, 5*events, r, f.FrameBytes(), err)
			}
		}
		if r, err := f.Paced(ctx, 4, time.Millisecond); err != nil || r.Ops != 20 || r.P50Ms <= 0 {
			t.Errorf("%+v: expected 20 deliveries one by one, got %+v: %v", order, r, err)
		}
		f.Close()
	}
}

// TestAppenderRefusesWhatIsNoAnswer: frames that are not valid answers are errors.
func TestAppenderRefusesWhatIsNoAnswer(t *testing.T) {
	o := &LoadOptions{Conns: 1, InFlight: 2, Size: 3, Conversations: 1}
	ack := `{"jsonrpc":"2.0","id":4,"result":{"seq":2,"turn":1}}`
	for name, frames := range map[string][]string{
		"another id":      {`{"jsonrpc":"2.0","id":9,"result":{"seq":2}}`},
		"an error":        {`{"jsonrpc":"2.0","id":4,"error":{"code":4290}}`},
		"the same twice":  {ack, ack},
		"no id":           {`{"jsonrpc":"2.0","method":"closing","params":{}}`},
		"something else":  {`{"jsonrpc":"2.0","id":4,"result":{"ok":true}}`},
		"an id of a text": {`{"jsonrpc":"2.0","id":"4","result":{"seq":2}}`},
	} {
		a := newAppender(&socket{}, 0, []string{"c"}, o, false)
		a.calls = 1
		a.send(0, time.Time{}) // id 4
		a.send(1, time.Time{}) // id 7
		var err error
		for _, f := range frames {
			err = a.answer([]byte(f))
		}
		if err == nil {
			t.Errorf("%s: %q was taken as an answer", name, frames)
		}
	}
	a := newAppender(&socket{}, 0, []string{"c"}, o, false)
	a.calls = 1
	a.send(0, time.Time{})
	if err := a.answer([]byte(ack)); err != nil || a.open != 0 {
		t.Errorf("expected the answer to be taken, got %v with %d calls open", err, a.open)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		figures []float64
		want    Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}},
		{[]float64{4, 1, 2, 9}, Spread{3, 1, 9}},
	} {
		if got := SpreadOf(c.figures); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, expected %v", c.figures, got, c.want)
		}
	}
	slow, fast := []Rate{{PerSecond: 1}, {PerSecond: 2}, {PerSecond: 3}},
		[]Rate{{PerSecond: 2}, {PerSecond: 2}, {PerSecond: 2}}
	if got, want := Ratios(slow, fast), (Spread{1, 0.5, 1.5}); got != want {
		t.Errorf("Ratios = %v, expected %v", got, want)
	}
}
