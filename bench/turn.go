package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// TurnOptions of a run of Turn.
type TurnOptions struct {
	// Conversations are how many there are at once, one measurement for each number.
	Conversations []int
	// Duration is how long each of them is measured.
	Duration time.Duration
	// Memory runs the hub without a disk.
	Memory bool
	// Dir is where the log is put for the time of the run; empty means the directory for temporary
	// files.
	Dir string
}

func (o TurnOptions) check() error {
	if o.Duration < 100*time.Millisecond {
		return fmt.Errorf("duration: %s: expected at least 100ms", o.Duration)
	}
	if len(o.Conversations) == 0 {
		return errors.New("conversations: empty list (expected: numbers from 1 to 10000)")
	}
	for _, n := range o.Conversations {
		if n < 1 || n > 10_000 {
			return fmt.Errorf("conversations: %d: expected 1 to 10000", n)
		}
	}
	return nil
}

// TurnReport is what a run of Turn measured.
type TurnReport struct {
	Journal string `json:"journal"`
	// Turns has one row for each number of conversations. Its times are from the acknowledgement of
	// the predecessor's final message to that of the turn's own.
	Turns []TurnRate `json:"turns"`

	Machine
}

// TurnRate is one row.
type TurnRate struct {
	Conversations int `json:"conversations"`
	Rate
}

// Turn measures two agents of push executors that answer each other over WebSockets. Each turn has
// a durable final message, request_turn, claimTurn and the durable reply. progress receives a
// description of each step.
func Turn(ctx context.Context, o TurnOptions, progress func(string)) (report *TurnReport, err error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	dir, err := os.MkdirTemp(o.Dir, "parley-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &TurnReport{Journal: Place{Memory: o.Memory}.journal()}
	if err := r.before(dir); err != nil {
		return nil, err
	}
	for i, n := range o.Conversations {
		progress(fmt.Sprintf("%d conversations, for %s", n, o.Duration))
		rate, err := measureTurns(ctx, o, fmt.Sprintf("%s/%d", dir, i), n)
		if err != nil {
			return nil, fmt.Errorf("%d conversations: %w", n, err)
		}
		r.Turns = append(r.Turns, TurnRate{Conversations: n, Rate: rate})
	}
	return r, r.after(dir)
}

// The phases of a measurement.
const (
	warming int32 = iota
	measuring
	ending
)

// table is what the seats of one measurement share.
type table struct {
	phase  atomic.Int32
	finals []atomic.Int64 // by conversation: when the last final message was acknowledged, in ns since start
	start  time.Time
}

// measureTurns starts a hub with n conversations and measures it.
func measureTurns(ctx context.Context, o TurnOptions, dir string, n int) (Rate, error) {
	hub, err := StartHub(ctx, HubOptions{Memory: o.Memory, Dir: dir})
	if err != nil {
		return Rate{}, err
	}
	defer hub.Stop()
	t := &table{finals: make([]atomic.Int64, n), start: time.Now()}
	seats, err := takeSeats(ctx, hub, t)
	defer closeSeats(seats)
	if err != nil {
		return Rate{}, err
	}
	g, working := errgroup.WithContext(ctx)
	for _, s := range seats {
		g.Go(s.work)
	}
	use, err := t.play(working, hub, n, o.Duration)
	t.phase.Store(ending)
	closeSeats(seats) // work ends
	if err := errors.Join(g.Wait(), err, ctx.Err()); err != nil {
		return Rate{}, err
	}
	var took []time.Duration
	for _, s := range seats {
		took = append(took, s.took...)
	}
	if len(took) == 0 {
		return Rate{}, fmt.Errorf("no turn came to its end within %s", o.Duration)
	}
	return use.rate(len(took), took), nil
}

// play begins n conversations, warms up, and then lets turns count for d.
func (t *table) play(ctx context.Context, hub *Child, n int, d time.Duration) (*usage, error) {
	if err := begin(ctx, hub, n); err != nil {
		return nil, err
	}
	if err := sleep(ctx, min(d/2, time.Second)); err != nil {
		return nil, err
	}
	target := hub.Target()
	use := startUsage(&target)
	t.phase.Store(measuring)
	err := sleep(ctx, d)
	t.phase.Store(ending)
	use.stop()
	return use, err
}
