package timetable

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// Options are for New. The zero value of each but Entries is good.
type Options struct {
	// Entries have different names.
	Entries []Entry
	// Logger hears what was missed and what cannot be posted; nil: nobody.
	Logger *slog.Logger
}

// Timetable posts notes.
type Timetable struct{ entries []*entry }

// New makes a timetable. It fails for an entry without a name or a client, for one whose Cron or Timezone is none, and for two of one name.
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

// Run posts what comes due, until ctx ends or every entry has. It may be called once. Each entry has a goroutine, which has ended when Run returns.
func (t *Timetable) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, e := range t.entries {
		running.Go(func() { e.run(ctx) })
	}
	running.Wait()
}
