package timetable

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// Options configures New. Only Entries is required.
type Options struct {
	// Entries have different names.
	Entries []Entry
	// Logger receives missed and failed notes; nil discards them.
	Logger *slog.Logger
}

// Timetable posts notes.
type Timetable struct{ entries []*entry }

// New creates a timetable. It returns an error for an entry without a name or a client, for an
// invalid Cron or Timezone, and for duplicate names.
func New(o *Options) (*Timetable, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t, known := &Timetable{}, map[string]bool{}
	for i := range o.Entries {
		e, err := newEntry(&o.Entries[i], log)
		if err != nil {
			return nil, err
		}
		if known[e.Name] {
			return nil, fmt.Errorf("entry %s: another has the name (expected different names)", e.Name)
		}
		known[e.Name] = true
		t.entries = append(t.entries, e)
	}
	return t, nil
}

// Run posts due notes until ctx or every entry ends. It must be called once. Each entry has a
// goroutine, which ends before Run returns.
func (t *Timetable) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, e := range t.entries {
		running.Go(func() { e.run(ctx) })
	}
	running.Wait()
}
