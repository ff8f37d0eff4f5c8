// Package bench measures a hub from outside, and the limit of a bare server in the same run.
//
// The hub is a separate process, started as a user starts it, or one that already runs. The bare
// server is also a separate process. It does only what the machine requires: it echoes frames, or
// writes prepared ones. Both use the same sockets and frames of the same size, in alternating
// slices, so that other load of the machine affects both. A ratio is the median over the slices,
// with the least and the greatest. Server CPU is the user and system time of the process.
//
// [Load], [Fan] and [Replay] are the loads, for comparisons with other servers.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// AppendOptions of a run of Append.
type AppendOptions struct {
	Place
	// Conns are numbers of connections, and InFlight of calls under way on each: one measurement for
	// each pair.
	Conns    []int
	InFlight []int
	// Duration is how long appends are measured for each pair; the echo gets the same.
	Duration time.Duration
	// Size is the length of a message's text in bytes.
	Size int
	// Conversations is how many the appends are spread over, at random.
	Conversations int
}

// loads returns the operation of each measurement.
func (o AppendOptions) loads() (all []LoadOptions, err error) {
	for _, conns := range o.Conns {
		for _, inFlight := range o.InFlight {
			l := LoadOptions{Conns: conns, InFlight: inFlight, Size: o.Size, Conversations: o.Conversations}
			if err := l.check(); err != nil {
				return nil, err // the others of that number say the same
			}
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no numbers of connections, or none of calls in flight")
	}
	return all, checkDuration(o.Duration)
}

func checkDuration(d time.Duration) error {
	if d < 100*time.Millisecond {
		return fmt.Errorf("duration: %s: expected at least 100ms", d)
	}
	return nil
}

// AppendReport is what a run of Append measured.
type AppendReport struct {
	Size          int         `json:"size"`
	FrameBytes    int         `json:"frameBytes"`
	Conversations int         `json:"conversations"`
	Journal       string      `json:"journal"`
	Rows          []AppendRow `json:"rows"`
	Machine
}

// AppendRow is one measurement.
type AppendRow struct {
	Conns    int  `json:"conns"`
	InFlight int  `json:"inFlight"`
	Append   Rate `json:"append"`
	Echo     Rate `json:"echo"`
	// Ratio is append per second over echo per second.
	Ratio Spread `json:"ratio"`
	// Sync are 4 KiB appends to a file, each made durable, in turns with the others; only for one call
	// at a time. OverSync is how many times as long as one of these an append takes, by the medians.
	Sync     *Rate   `json:"sync,omitempty"`
	OverSync *Spread `json:"overSync,omitempty"`
}

// Append runs the benchmark. progress receives a description of each step.
func Append(ctx context.Context, o AppendOptions, progress func(string)) (*AppendReport, error) {
	loads, err := o.loads()
	if err != nil {
		return nil, &OptionsError{err}
	}
	r := &AppendReport{Size: o.Size, Conversations: o.Conversations, Journal: o.journal()}
	return r, o.set(ctx, &r.Machine, func(s *stage) error {
		progress(fmt.Sprintf("making %d conversations", o.Conversations))
		ids, err := makeConversations(ctx, &s.hub, o.Conversations)
		if err != nil {
			return err
		}
		for _, l := range loads {
			progress(fmt.Sprintf("%d connections, %d in flight: appending for %s, and as long echoing, in turns", l.Conns,
				l.InFlight, o.Duration))
			row, err := s.measureAppend(ctx, l, ids, o.Duration, r)
			if err != nil {
				return fmt.Errorf("%d connections, %d in flight: %w", l.Conns, l.InFlight, err)
			}
			r.Rows = append(r.Rows, row)
		}
		return s.leave(ctx, ids)
	})
}

func (s *stage) measureAppend(ctx context.Context, o LoadOptions, ids []string, d time.Duration,
	r *AppendReport) (AppendRow, error) {
	row := AppendRow{Conns: o.Conns, InFlight: o.InFlight}
	appends, err := newLoad(ctx, s.hub, o, ids)
	if err != nil {
		return row, err
	}
	defer appends.Close()
	echoes, err := newLoad(ctx, s.bare, o, ids)
	if err != nil {
		return row, err
	}
	defer echoes.Close()
	r.FrameBytes = appends.FrameBytes()
	sides := []slicing{appends.slice, echoes.slice}
	if o.Conns*o.InFlight == 1 && s.dir != "" {
		file, err := os.Create(filepath.Join(s.dir, "sync"))
		if err != nil {
			return row, err
		}
		defer os.Remove(file.Name())
		defer file.Close()
		sides = append(sides, (&side{workers: []worker{&syncer{file: file}}}).slice)
	}
	rates, err := alternate(ctx, d, sides...)
	if err != nil {
		return row, err
	}
	row.Append, row.Echo, row.Ratio = Middle(rates[0]), Middle(rates[1]), Ratios(rates[0], rates[1])
	if len(rates) > 2 {
		row.compareSync(rates[0], rates[2])
	}
	return row, nil
}

func (row *AppendRow) compareSync(appends, syncs []Rate) {
	var over []float64
	for i := range syncs {
		if syncs[i].P50Ms > 0 { // nothing was synced in a slice that was too short for it
			over = append(over, appends[i].P50Ms/syncs[i].P50Ms)
		}
	}
	if len(over) == 0 {
		return
	}
	sync, spread := Middle(syncs), SpreadOf(over)
	row.Sync, row.OverSync = &sync, &spread
}

// leave closes the conversations that the benchmark created in a hub that continues to run.
func (s *stage) leave(ctx context.Context, ids []string) error {
	if s.self != nil {
		return nil
	}
	return closeConversations(ctx, &s.hub, ids)
}
