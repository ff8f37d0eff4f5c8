package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley/internal/limits"
)

// ReplayRunOptions of a run of ReplayRun.
type ReplayRunOptions struct {
	Place
	ReplayOptions
	// By are the ways of reading, one measurement for each.
	By []ReadBy
	// Rounds is how often each thing is measured.
	Rounds int
}

func (o ReplayRunOptions) check() error {
	if len(o.By) == 0 {
		return errors.New("there is no way of reading")
	}
	for _, by := range o.By {
		if err := by.check(); err != nil {
			return err
		}
		if most := limits.MaxPageBytes / (o.Size + eventRoom); by.Page > most {
			return fmt.Errorf("page: %d: expected at most %d with %d bytes of text: more would not come at once", by.Page, most,
				o.Size)
		}
	}
	return errors.Join(o.ReplayOptions.check(), checkRounds(o.Rounds))
}

// eventRoom is more than what an event has besides its text.
const eventRoom = 256

// ReplayReport is what a run of ReplayRun measured.
type ReplayReport struct {
	Events  int         `json:"events"`
	Size    int         `json:"size"`
	Journal string      `json:"journal"`
	Rows    []ReplayRow `json:"rows"`
	Machine
}

// ReplayRow is one way of reading. The rates are of events.
type ReplayRow struct {
	By string `json:"by"`
	ReadBy
	// FrameBytes is the middle length of a frame: of a page, or of one event.
	FrameBytes int  `json:"frameBytes"`
	Replay     Rate `json:"replay"`
	// Bare has as many bytes in as many frames, made before.
	Bare  Rate   `json:"bare"`
	Ratio Spread `json:"ratio"`
}

// ReplayRun runs the benchmark: one client reads a whole conversation.
func ReplayRun(ctx context.Context, o ReplayRunOptions, progress func(string)) (*ReplayReport, error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	r := &ReplayReport{Events: o.Events, Size: o.Size, Journal: o.journal()}
	return r, o.set(ctx, &r.Machine, func(s *stage) error {
		progress(fmt.Sprintf("writing %d events", o.Events))
		replay, err := NewReplay(ctx, s.hub, o.ReplayOptions)
		if err != nil {
			return err
		}
		defer replay.Close()
		bare, err := s.bare.dial(ctx, barePages)
		if err != nil {
			return err
		}
		defer bare.close()
		for _, by := range o.By {
			progress(fmt.Sprintf("%s, %d rounds", by, o.Rounds))
			row, err := s.measureReplay(ctx, replay, bare, by, o.Rounds)
			if err != nil {
				return err
			}
			r.Rows = append(r.Rows, row)
		}
		return s.leave(ctx, []string{replay.conversation})
	})
}

func (s *stage) measureReplay(ctx context.Context, replay *Replay, bare *socket, by ReadBy, rounds int) (ReplayRow,
	error) {
	row := ReplayRow{By: by.String(), ReadBy: by}
	var reads, writes []Rate
	if _, err := replay.Run(ctx, by); err != nil { // warms up
		return row, err
	}
	for range rounds {
		r, err := replay.Run(ctx, by)
		if err != nil {
			return row, err
		}
		reads = append(reads, r)
		if r, err = s.readBare(ctx, replay, bare, by); err != nil {
			return row, err
		}
		writes = append(writes, r)
	}
	row.FrameBytes = int(replay.bytes / int64(replay.frames))
	row.Replay, row.Bare, row.Ratio = Middle(reads), Middle(writes), Ratios(reads, writes)
	return row, nil
}

// readBare reads as many frames of as many bytes as the replay has read: pages one by one when they
// are ordered, events all together.
func (s *stage) readBare(ctx context.Context, replay *Replay, bare *socket, by ReadBy) (Rate, error) {
	stop := context.AfterFunc(ctx, bare.close)
	defer stop()
	order := Order{Bytes: int(replay.bytes / int64(replay.frames)), Frames: 1, PerWrite: 1}
	orders, ahead := replay.frames, max(1, by.Ahead)
	if by.Page == 0 {
		order.Frames, order.PerWrite = replay.frames, max(1, gatherBytes/order.Bytes)
		orders = 1
	}
	use := startUsage(&s.bare)
	asked, got := 0, 0
	for got < replay.frames {
		for ; asked < orders && asked-got < ahead; asked++ {
			if err := bare.order(order); err != nil {
				return Rate{}, err
			}
		}
		err := bare.read(func([]byte) error {
			got++
			return nil
		})
		if err != nil {
			return Rate{}, errors.Join(err, context.Cause(ctx))
		}
	}
	use.stop()
	return use.rate(int(replay.latest), []time.Duration{use.elapsed}), nil
}
