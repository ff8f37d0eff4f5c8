package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// GrowthOptions of a run of Growth.
type GrowthOptions struct {
	Place
	// Events is how far the log grows, and Windows how often it is looked at on the way: when it is
	// empty, at the end, and evenly between.
	Events  int
	Windows int
	// Duration is how long appends are measured in each window; the echo gets the same.
	Duration time.Duration
	// Conns, InFlight, Size and Conversations are those of the appends.
	LoadOptions
}

func (o GrowthOptions) check() error {
	switch {
	case o.Events < 1 || o.Events > 1_000_000_000:
		return fmt.Errorf("events: %d: expected 1 to 1000000000", o.Events)
	case o.Windows < 2 || o.Windows > 100:
		return fmt.Errorf("windows: %d: expected 2 to 100", o.Windows)
	}
	if err := checkDuration(o.Duration); err != nil {
		return err
	}
	return o.LoadOptions.check()
}

// GrowthReport is what a run of Growth measured.
type GrowthReport struct {
	Conns         int         `json:"conns"`
	InFlight      int         `json:"inFlight"`
	Size          int         `json:"size"`
	Conversations int         `json:"conversations"`
	Journal       string      `json:"journal"`
	Rows          []GrowthRow `json:"rows"`
	// Change is the ratio of append to echo in the last window over that in the first, and ChangeCPU
	// the same of the server's CPU of an append: 1 is no change.
	Change    Spread  `json:"change"`
	ChangeCPU float64 `json:"changeCpu"`
	Machine
}

// GrowthRow is one window.
type GrowthRow struct {
	// Events in the log when the window began.
	Events int    `json:"events"`
	Append Rate   `json:"append"`
	Echo   Rate   `json:"echo"`
	Ratio  Spread `json:"ratio"`
	// FillPerSecond is how fast the log has grown since the window before.
	FillPerSecond float64 `json:"fillPerSecond,omitempty"`
	// MemoryKiB is the hub's resident memory that is no file's, and MappedKiB that of files; both as
	// of the end of the window, under load.
	MemoryKiB int64 `json:"memoryKib"`
	MappedKiB int64 `json:"mappedKib"`
	// LogBytes and IndexBytes are the sizes of the journal's files.
	LogBytes   int64 `json:"logBytes"`
	IndexBytes int64 `json:"indexBytes"`
}

// Growth runs the benchmark: how appending changes while the log grows. The log is filled as it is
// measured, by appends over sockets.
func Growth(ctx context.Context, o GrowthOptions, progress func(string)) (*GrowthReport, error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	r := &GrowthReport{Conns: o.Conns, InFlight: o.InFlight, Size: o.Size, Conversations: o.Conversations,
		Journal: o.journal()}
	return r, o.set(ctx, &r.Machine, func(s *stage) error {
		ids, err := makeConversations(ctx, &s.hub, o.Conversations)
		if err != nil {
			return err
		}
		appends, err := newLoad(ctx, s.hub, o.LoadOptions, ids)
		if err != nil {
			return err
		}
		defer appends.Close()
		echoes, err := newLoad(ctx, s.bare, o.LoadOptions, ids)
		if err != nil {
			return err
		}
		defer echoes.Close()
		g := &growing{stage: s, options: &o, appends: appends, echoes: echoes}
		for w := range o.Windows {
			if err := g.window(ctx, w, r, progress); err != nil {
				return err
			}
		}
		g.compare(r)
		return nil
	})
}

// growing is a log that grows.
type growing struct {
	*stage
	options *GrowthOptions
	appends *Load
	echoes  *Load
	events  int
	windows [][]float64 // ratios
}

// window fills the log as far as the window asks, and measures.
func (g *growing) window(ctx context.Context, w int, r *GrowthReport, progress func(string)) error {
	row := GrowthRow{}
	want := g.options.Events * w / (g.options.Windows - 1)
	progress(fmt.Sprintf("growing to %d events", want))
	var err error
	if row.FillPerSecond, err = g.fill(ctx, want); err != nil {
		return err
	}
	row.Events = g.events
	progress(fmt.Sprintf("appending for %s, and as long echoing, in turns", g.options.Duration))
	rates, err := alternate(ctx, g.options.Duration, g.append, g.echoes.slice)
	if err != nil {
		return err
	}
	row.Append, row.Echo, row.Ratio = Middle(rates[0]), Middle(rates[1]), Ratios(rates[0], rates[1])
	var ratios []float64
	for i := range rates[0] {
		ratios = append(ratios, rates[0][i].PerSecond/rates[1][i].PerSecond)
	}
	g.windows = append(g.windows, ratios)
	row.MemoryKiB = residentKiB(g.self.pid(), false)
	row.MappedKiB = residentKiB(g.self.pid(), true) - row.MemoryKiB
	row.LogBytes, row.IndexBytes = g.fileBytes("log.db"), g.fileBytes("index.db")
	r.Rows = append(r.Rows, row)
	return nil
}

func (g *growing) append(ctx context.Context, d time.Duration) (Rate, error) {
	rate, err := g.appends.slice(ctx, d)
	g.events += rate.Ops
	return rate, err
}

// fillSlice is how long appends run before their number is read.
const fillSlice = 200 * time.Millisecond

// fill appends until the log has some events, and says how many there were in a second: 0 where it
// had them.
func (g *growing) fill(ctx context.Context, want int) (float64, error) {
	start, had := time.Now(), g.events
	for g.events < want {
		if _, err := g.append(ctx, fillSlice); err != nil {
			return 0, err
		}
	}
	if g.events == had {
		return 0, nil
	}
	return float64(g.events-had) / time.Since(start).Seconds(), nil
}

func (g *growing) fileBytes(name string) int64 {
	info, err := os.Stat(filepath.Join(g.dir, name))
	if err != nil {
		return 0 // a log in memory has no files
	}
	return info.Size()
}

// compare holds the last window against the first.
func (g *growing) compare(r *GrowthReport) {
	first, last := SpreadOf(g.windows[0]).Median, g.windows[len(g.windows)-1]
	var change []float64
	for _, ratio := range last {
		change = append(change, ratio/first)
	}
	r.Change = SpreadOf(change)
	if us := r.Rows[0].Append.ServerCPUus; us > 0 {
		r.ChangeCPU = r.Rows[len(r.Rows)-1].Append.ServerCPUus / us
	}
}
