package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// SessionOptions of a run of Session.
type SessionOptions struct {
	// AtOnce are how many sessions are under way at once, one measurement for each number.
	AtOnce []int
	// Duration is how long each of them is measured; bare processes get the same.
	Duration time.Duration
	// Memory runs the hub without a disk.
	Memory bool
	// Dir is where the log is put for the time of the run; empty means the directory for temporary
	// files.
	Dir string
}

// maxAtOnce bounds the processes that a run starts at once.
const maxAtOnce = 256

func (o SessionOptions) check() error {
	if o.Duration < 100*time.Millisecond {
		return fmt.Errorf("duration: %s: expected at least 100ms", o.Duration)
	}
	if len(o.AtOnce) == 0 {
		return fmt.Errorf("at once: there are no numbers: expected some from 1 to %d", maxAtOnce)
	}
	for _, n := range o.AtOnce {
		if n < 1 || n > maxAtOnce {
			return fmt.Errorf("at once: %d: expected 1 to %d", n, maxAtOnce)
		}
	}
	return nil
}

// SessionReport is what a run of Session measured.
type SessionReport struct {
	Journal string `json:"journal"`
	// Sessions has one row for each number at once.
	Sessions []SessionRate `json:"sessions"`

	Machine
}

// SessionRate is one row: sessions, from startSession to its answer with the result, beside bare
// processes of the same program. The server's CPU is that of the hub and the runner, without the
// programs.
type SessionRate struct {
	AtOnce  int  `json:"atOnce"`
	Session Rate `json:"session"`
	Bare    Rate `json:"bare"`
	// Ratio is sessions per second over bare processes per second, and ExtraMs how much longer a
	// session takes by the median.
	Ratio   Spread  `json:"ratio"`
	ExtraMs float64 `json:"extraMs"`
}

// sessionAgent is the agent whose command does nothing.
const sessionAgent = "nothing"

// Session measures sessions of a command that does nothing, in mode sync over WebSockets. Slices
// alternate with runs of the command itself, with the same concurrency. The hub and the runner,
// which is a parley run, are separate processes. progress receives a description of each step.
func Session(ctx context.Context, o SessionOptions, progress func(string)) (report *SessionReport, err error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	nothing, err := exec.LookPath("true")
	if err != nil {
		return nil, fmt.Errorf("a program that does nothing: %w", err)
	}
	dir, err := os.MkdirTemp(o.Dir, "parley-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &SessionReport{Journal: Place{Memory: o.Memory}.journal()}
	if err := r.before(dir); err != nil {
		return nil, err
	}
	for i, n := range o.AtOnce {
		progress(fmt.Sprintf("%d at once, sessions for %s and as long bare processes, in turns", n, o.Duration))
		row, err := measureSessions(ctx, o, fmt.Sprintf("%s/%d", dir, i), nothing, n)
		if err != nil {
			return nil, fmt.Errorf("%d at once: %w", n, err)
		}
		r.Sessions = append(r.Sessions, row)
	}
	return r, r.after(dir)
}

// measureSessions starts a hub and a runner, and measures them.
func measureSessions(ctx context.Context, o SessionOptions, dir, nothing string, n int) (SessionRate, error) {
	hub, err := StartHub(ctx, HubOptions{Memory: o.Memory, Dir: filepath.Join(dir, "data")})
	if err != nil {
		return SessionRate{}, err
	}
	defer hub.Stop()
	runner, err := startRunner(ctx, hub, filepath.Join(dir, "blueprints"), nothing)
	if err != nil {
		return SessionRate{}, err
	}
	defer runner.Stop()
	starters, err := takeStarters(ctx, hub, n)
	defer closeStarters(starters)
	if err != nil {
		return SessionRate{}, err
	}
	if err := starters[0].awaitAgent(ctx); err != nil {
		return SessionRate{}, fmt.Errorf("%w\n%s", err, runner.stderr.Bytes())
	}
	sessions := &side{target: hub.Target()}
	sessions.target.CPU = func() time.Duration { return hub.CPU() + runner.CPU() }
	for _, s := range starters {
		sessions.workers = append(sessions.workers, s)
	}
	bare := &side{}
	for range n {
		bare.workers = append(bare.workers, &forker{ctx: ctx, path: nothing})
	}
	rates, err := alternate(ctx, o.Duration, sessions.slice, bare.slice)
	if err != nil {
		return SessionRate{}, err
	}
	row := SessionRate{AtOnce: n, Session: Middle(rates[0]), Bare: Middle(rates[1]), Ratio: Ratios(rates[0], rates[1])}
	row.ExtraMs = row.Session.P50Ms - row.Bare.P50Ms
	return row, nil
}

// forker starts a program and waits for its end, again and again.
type forker struct {
	ctx  context.Context // of the run
	path string
	took []time.Duration
}

func (f *forker) work(end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		if err := exec.CommandContext(f.ctx, f.path).Run(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		f.took = append(f.took, time.Since(start))
	}
}

func (f *forker) taken() (int, []time.Duration) { return take(&f.took) }

func (f *forker) close() {} // ctx ends the program
