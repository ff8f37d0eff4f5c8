package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// FanoutOptions of a run of Fanout.
type FanoutOptions struct {
	Place
	// Subscribers are numbers of subscribers, one measurement for each.
	Subscribers []int
	// Deliveries is about how many one burst makes.
	Deliveries int
	// Paced is how many events go out one by one in each round, and Pause the time from one to the
	// next for up to 1,000 subscribers; with more of them it is longer by as much.
	Paced int
	Pause time.Duration
	// Rounds is how often each thing is measured.
	Rounds int
	// Size is the length of a message's text in bytes.
	Size int
}

func (o FanoutOptions) check() error {
	if len(o.Subscribers) == 0 {
		return errors.New("subscribers: there are no numbers")
	}
	for _, n := range o.Subscribers {
		if err := (FanOptions{Subscribers: n, Size: o.Size}).check(); err != nil {
			return err
		}
	}
	switch {
	case o.Deliveries < 1 || o.Deliveries > 100_000_000:
		return fmt.Errorf("deliveries: %d: expected 1 to 100000000", o.Deliveries)
	case o.Paced < 1 || o.Paced > 10_000:
		return fmt.Errorf("paced: %d: expected 1 to 10000", o.Paced)
	case o.Pause < time.Millisecond || o.Pause > time.Minute:
		return fmt.Errorf("pause: %s: expected 1ms to 1m", o.Pause)
	}
	return checkRounds(o.Rounds)
}

func checkRounds(n int) error {
	if n < 1 || n > 100 {
		return fmt.Errorf("rounds: %d: expected 1 to 100", n)
	}
	return nil
}

// FanoutReport is what a run of Fanout measured.
type FanoutReport struct {
	Size       int         `json:"size"`
	FrameBytes int         `json:"frameBytes"`
	Journal    string      `json:"journal"`
	Rows       []FanoutRow `json:"rows"`
	Machine
}

// pacedSubscribers are as many as get each event within the pause. With more of them the pause is
// longer, so that events do not queue up.
const pacedSubscribers = 1000

// coalesced is how many frames the bare server writes at once in the second of its bursts.
const coalesced = 16

// FanoutRow is one measurement. The rates are of deliveries; the hub's have the appends in them.
type FanoutRow struct {
	Subscribers int `json:"subscribers"`
	// Events of one burst.
	Events int  `json:"events"`
	Burst  Rate `json:"burst"`
	// Bare has one write for each frame, and BareCoalesced one for 16.
	Bare           Rate   `json:"bare"`
	BareCoalesced  Rate   `json:"bareCoalesced"`
	Ratio          Spread `json:"ratio"`
	RatioCoalesced Spread `json:"ratioCoalesced"`
	// Paced has the times from when an event was sent until its last delivery; the hub's have the
	// commit in them. PacedRatio is that of the 99th percentiles: less is better.
	Paced      Rate   `json:"paced"`
	PacedBare  Rate   `json:"pacedBare"`
	PacedRatio Spread `json:"pacedRatio"`
}

// Fanout runs the benchmark: one conversation with many subscribers, each with its own socket.
func Fanout(ctx context.Context, o FanoutOptions, progress func(string)) (*FanoutReport, error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	r := &FanoutReport{Size: o.Size, Journal: o.journal()}
	return r, o.set(ctx, &r.Machine, func(s *stage) error {
		for _, n := range o.Subscribers {
			progress(fmt.Sprintf("%d subscribers, %d rounds", n, o.Rounds))
			row, err := s.measureFanout(ctx, n, &o, r)
			if err != nil {
				return fmt.Errorf("%d subscribers: %w", n, err)
			}
			r.Rows = append(r.Rows, row)
		}
		return nil
	})
}

func (s *stage) measureFanout(ctx context.Context, n int, o *FanoutOptions, r *FanoutReport) (FanoutRow, error) {
	row := FanoutRow{Subscribers: n, Events: max(1, o.Deliveries/n)}
	hub, err := startFan(ctx, s.hub, FanOptions{Subscribers: n, Size: o.Size})
	if err != nil {
		return row, err
	}
	defer hub.Stop()
	warm, err := hub.ask(ctx, fanOrder{Events: min(10, row.Events)})
	if err != nil {
		return row, err
	}
	r.FrameBytes = warm.FrameBytes
	bare, err := startFan(ctx, s.bare, FanOptions{Subscribers: n, Size: o.Size})
	if err != nil {
		return row, err
	}
	defer bare.Stop()
	burst := func(perWrite int) fanOrder {
		return fanOrder{Events: row.Events, Bare: Order{Bytes: warm.FrameBytes, PerWrite: perWrite}}
	}
	paced := burst(1)
	paced.Events, paced.Pause = o.Paced, o.Pause*time.Duration(max(1, n/pacedSubscribers))
	asked := []struct {
		fan   *fanChild
		order fanOrder
	}{{hub, burst(1)}, {bare, burst(1)}, {bare, burst(coalesced)}, {hub, paced}, {bare, paced}}
	rates := make([][]Rate, len(asked))
	for range o.Rounds {
		for i, a := range asked {
			answer, err := a.fan.ask(ctx, a.order)
			if err != nil {
				return row, err
			}
			rates[i] = append(rates[i], answer.Rate)
		}
	}
	row.fill(rates)
	return row, nil
}

func (row *FanoutRow) fill(rates [][]Rate) {
	row.Burst, row.Bare, row.BareCoalesced = Middle(rates[0]), Middle(rates[1]), Middle(rates[2])
	row.Ratio, row.RatioCoalesced = Ratios(rates[0], rates[1]), Ratios(rates[0], rates[2])
	row.Paced, row.PacedBare = Middle(rates[3]), Middle(rates[4])
	var over []float64
	for i := range rates[3] {
		over = append(over, rates[3][i].P99Ms/rates[4][i].P99Ms)
	}
	row.PacedRatio = SpreadOf(over)
}
