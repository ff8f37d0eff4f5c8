package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// workload compares running servers, and appends rows to the report.
type workload func(ctx context.Context, o *Options, all []server, r *run) error

// workloads in the order of all.
var workloads = []struct {
	name string
	does workload
}{
	{"append", appends},
	{"fanout", fanOut},
	{"replay", replay},
}

// hubsName is the name of the comparison of hubs, which starts its own servers and is not part of
// all.
const hubsName = "hubs"

// run is a comparison that is under way.
type run struct {
	report   *Report
	progress func(format string, args ...any)
}

// compare runs the workloads of that name, or all.
func compare(ctx context.Context, o Options, name string, progress func(format string, args ...any)) (report *Report,
	err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "parley-compare-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL runs as another user, which must be able to enter its directory
		return nil, err
	}
	r := &run{report: &Report{Size: o.Size, Rounds: o.Rounds, Slice: o.Slice.String()}, progress: progress}
	if o.Parley == "" && (name == hubsName || slices.Contains(o.Servers, "parley")) {
		progress("building parley")
		if o.Parley, err = buildParley(ctx, dir); err != nil {
			return nil, err
		}
	}
	if r.report.Before, err = lookAtMachine(dir); err != nil {
		return nil, err
	}
	if name == hubsName {
		if err := r.hubsAll(ctx, &o, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	for _, w := range workloads {
		if name != w.name && name != "all" {
			continue
		}
		o.fills = w.name == "replay"
		if err := r.work(ctx, o, filepath.Join(dir, w.name), w.does); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	r.report.After, err = lookAtMachine(dir)
	return r.report, err
}

// work runs one workload with newly started servers.
func (r *run) work(ctx context.Context, o Options, dir string, does workload) error {
	var started []server
	defer func() {
		for _, s := range started {
			s.process().end()
		}
	}()
	for _, n := range names {
		if !slices.Contains(o.Servers, n) {
			continue
		}
		s := newServer(n, &o)
		if err := r.start(ctx, s, filepath.Join(dir, n)); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		if s.process() != nil {
			started = append(started, s)
			r.report.about(s.about())
		}
	}
	if len(started) == 0 {
		return errors.New("nothing is left to be compared")
	}
	return does(ctx, &o, started, r)
}

// start starts a server, or says loudly that it is left out.
func (r *run) start(ctx context.Context, s server, dir string) error {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return err
	}
	r.progress("starting %s", s.about().Name)
	err := s.start(ctx, dir)
	if err == nil {
		return nil
	}
	if p := s.process(); p != nil {
		p.end()
	}
	if !errors.Is(err, errMissing) {
		return err
	}
	r.leaveOut("%v", err)
	return nil
}

// leaveOut notes once what is not compared, and why.
func (r *run) leaveOut(format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if !slices.Contains(r.report.LeftOut, said) {
		r.report.LeftOut = append(r.report.LeftOut, said)
	}
	r.progress("%s", said)
}
