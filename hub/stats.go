package hub

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
)

// counters are what the hub counts while it works. Counting never waits, and is never undone.
type counters struct {
	messages, traces, systems atomic.Int64 // committed events
	duplicates                atomic.Int64
	appends                   histogram
}

// committed counts what an append that was decided at that time has added.
func (n *counters) committed(frames []frame, decided time.Time) {
	n.appends.observe(time.Since(decided))
	for i := range frames {
		switch frames[i].meta.Type {
		case parley.TypeMessage:
			n.messages.Add(1)
		case parley.TypeTrace:
			n.traces.Add(1)
		default:
			n.systems.Add(1)
		}
	}
}

// Stats gives what the hub knows of itself, to callers with scope admin.
func (h *Hub) Stats(_ context.Context, p *Principal, _ *parley.StatsParams) (parley.Stats, error) {
	if err := h.allow(p, parley.MethodStats); err != nil {
		return parley.Stats{}, err
	}
	return h.Counted(), nil
}

// Counted gives what the hub knows of itself to whoever has it in hand, also when it drains or has failed. What only a door knows is zero.
// The numbers are taken one after another while the hub works.
func (h *Hub) Counted() parley.Stats {
	n := &h.counters
	s := parley.Stats{
		Version: h.opts.Version, State: h.state(), UptimeMs: time.Since(h.started).Milliseconds(),
		EventsAppended: map[parley.EventType]int64{
			parley.TypeMessage: n.messages.Load(), parley.TypeTrace: n.traces.Load(), parley.TypeSystem: n.systems.Load(),
		},
		Duplicates: n.duplicates.Load(), Append: n.appends.durations(), Refusals: map[string]int64{},
		ConversationsLoaded: int64(h.Loaded()), JournalBytes: h.journal.Size(),
	}
	h.turns.count(&s)
	s.Subscribers, s.MaxLag, s.SumLag = h.subscribers.lag()
	return s
}

func (h *Hub) state() parley.HubState {
	err := h.Ready()
	switch {
	case err == nil:
		return parley.HubReady
	case errors.Is(err, parley.ErrStorageFull):
		return parley.HubStorageFull
	case h.Err() != nil:
		return parley.HubFailed
	}
	return parley.HubDraining
}
