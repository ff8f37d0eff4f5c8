package bench

import (
	"context"
	"errors"
	"os"
)

// Place is where a benchmark is run.
type Place struct {
	// Hub is one that runs already; nil starts one for the run.
	Hub *Target
	// Memory starts it without a disk.
	Memory bool
	// Dir is where the log is put for the time of the run; empty means the directory for temporary
	// files.
	Dir string

	bareEnv []string // of the bare server
}

// journal says where the log is.
func (p Place) journal() string {
	switch {
	case p.Hub != nil:
		return "of the running hub"
	case p.Memory:
		return "memory"
	}
	return "bolt"
}

// stage is what a benchmark works with, for the time of its run.
type stage struct {
	dir  string // empty for a running hub
	hub  Target
	self *Child // the hub where it was started for the run, else nil
	bare Target
}

// set makes a stage for do, looks at the machine before and after, and leaves nothing behind.
func (p Place) set(ctx context.Context, m *Machine, do func(s *stage) error) (err error) {
	s := &stage{}
	if p.Hub != nil {
		s.hub = *p.Hub
	} else {
		if s.dir, err = os.MkdirTemp(p.Dir, "parley-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	}
	if err := m.before(s.dir); err != nil {
		return err
	}
	if p.Hub == nil {
		if s.self, err = StartHub(ctx, HubOptions{Memory: p.Memory, Dir: s.dir}); err != nil {
			return err
		}
		defer s.self.Stop()
		s.hub = s.self.Target()
	}
	bare, err := startChild(ctx, "", p.bareEnv, "bench-bare")
	if err != nil {
		return err
	}
	defer bare.Stop()
	s.bare = bare.Target()
	if err := do(s); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return m.after(s.dir)
}
