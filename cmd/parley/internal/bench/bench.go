// Package bench measures a hub from outside, against the bare transport in the same run.
//
// The hub is a process of its own, started as a user would start it; so is an echo server that does nothing but answer each WebSocket
// frame with itself. Both get the same number of connections with one call in flight on each, and frames of the same size, in
// alternating slices, so that whatever else the machine does meets both alike. An append counts when its acknowledgement, which
// means that it is durable, has been read. Server CPU is that of the process, user and system together.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Options of a run.
type Options struct {
	// Conns is the number of connections, each with one call in flight.
	Conns int
	// Duration is how long appends are measured; the echo gets the same.
	Duration time.Duration
	// Size is the length of a message's text in bytes.
	Size int
	// Conversations is how many the appends are spread over, at random.
	Conversations int
	// Memory runs the hub without a disk.
	Memory bool
	// Dir is where the log is put for the time of the run; empty means the directory for temporary files.
	Dir string
}

func (o Options) check() error {
	switch {
	case o.Conns < 1 || o.Conns > 8000:
		return fmt.Errorf("connections: %d: expected 1 to 8000", o.Conns)
	case o.Conversations < 1 || o.Conversations > 100_000:
		return fmt.Errorf("conversations: %d: expected 1 to 100000", o.Conversations)
	case o.Size < 1 || o.Size > 512<<10:
		return fmt.Errorf("size: %d: expected 1 to %d bytes", o.Size, 512<<10)
	case o.Duration < 100*time.Millisecond:
		return fmt.Errorf("duration: %s: expected at least 100ms", o.Duration)
	}
	return nil
}

// Report is what a run measured.
type Report struct {
	Conns         int    `json:"conns"`
	Size          int    `json:"size"`
	FrameBytes    int    `json:"frameBytes"`
	Conversations int    `json:"conversations"`
	Journal       string `json:"journal"`

	Append Rate `json:"append"`
	Echo   Rate `json:"echo"`
	// Ratio is append per second over echo per second.
	Ratio float64 `json:"ratio"`

	// FsyncBefore and FsyncAfter are durable 4 KiB writes per second, one at a time, in the same directory.
	FsyncBefore float64 `json:"fsyncPerSecondBefore,omitempty"`
	FsyncAfter  float64 `json:"fsyncPerSecondAfter,omitempty"`
	LoadBefore  string  `json:"loadBefore,omitempty"`
	LoadAfter   string  `json:"loadAfter,omitempty"`
}

// Rate is one side of the comparison.
type Rate struct {
	Ops       int     `json:"ops"`
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
	// ServerCPUus is CPU time of the server per operation in microseconds; 0 where the system does not tell.
	ServerCPUus float64 `json:"serverCpuUs"`
}

// pieces is into how many alternating pieces a run is cut.
const pieces = 6

// Append runs the benchmark. progress is told what is being done.
func Append(ctx context.Context, o Options, progress func(string)) (report *Report, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "parley-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &Report{Conns: o.Conns, Size: o.Size, Conversations: o.Conversations, Journal: "bolt", LoadBefore: loadAverage()}
	if o.Memory {
		r.Journal = "memory"
	}
	if r.FsyncBefore, err = fsyncRate(dir); err != nil {
		return nil, err
	}
	if err := measure(ctx, o, dir, r, progress); err != nil {
		return nil, err
	}
	if r.FsyncAfter, err = fsyncRate(dir); err != nil {
		return nil, err
	}
	r.LoadAfter = loadAverage()
	r.Ratio = r.Append.PerSecond / r.Echo.PerSecond
	return r, nil
}

func measure(ctx context.Context, o Options, dir string, r *Report, progress func(string)) error {
	hub, err := startHub(ctx, o, dir)
	if err != nil {
		return err
	}
	defer hub.stop()
	echo, err := startChild(ctx, nil, "bench-echo")
	if err != nil {
		return err
	}
	defer echo.stop()

	progress(fmt.Sprintf("%d conversations, 2 x %d connections", o.Conversations, o.Conns))
	ids, err := createConversations(ctx, hub, o.Conversations)
	if err != nil {
		return err
	}
	appends, err := connect(ctx, hub, o, ids)
	if err != nil {
		return err
	}
	defer closeAll(appends)
	echoes, err := connect(ctx, echo, o, ids)
	if err != nil {
		return err
	}
	defer closeAll(echoes)
	r.FrameBytes = len(appends[0].frame)

	progress(fmt.Sprintf("appending for %s, and as long echoing, in turns", o.Duration))
	a := &side{workers: workers(appends), servers: []*child{hub}}
	e := &side{workers: workers(echoes), servers: []*child{echo}}
	if err := alternate(ctx, a, e, o.Duration); err != nil {
		return err
	}
	r.Append, r.Echo = a.rate(), e.rate()
	return nil
}

// alternate warms both sides up and then measures them in turns.
func alternate(ctx context.Context, a, e *side, total time.Duration) error {
	for _, s := range []*side{a, e} {
		if err := s.slice(ctx, min(total/pieces, 300*time.Millisecond)); err != nil {
			return err
		}
		s.forget()
	}
	for range pieces {
		for _, s := range []*side{a, e} {
			if err := s.slice(ctx, total/pieces); err != nil {
				return err
			}
		}
	}
	return nil
}
