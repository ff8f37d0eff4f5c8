package hub

import (
	"context"
	"errors"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// Stats gives what the hub knows of itself, to callers with scope admin.
func (h *Hub) Stats(_ context.Context, p *auth.Principal, _ *parley.StatsParams) (parley.Stats, error) {
	if err := h.auth.Allow(p, parley.MethodStats); err != nil {
		return parley.Stats{}, err
	}
	return h.Counted(), nil
}

// Counted gives what the hub knows of itself to whoever has it in hand, also when it drains or has failed. What only a door knows is zero.
// The numbers are taken one after another while the hub works.
func (h *Hub) Counted() parley.Stats {
	s := parley.Stats{
		Version: h.opts.Version, State: h.state(), UptimeMs: time.Since(h.started).Milliseconds(), Refusals: map[string]int64{},
	}
	h.conv.AddStats(&s)
	h.turns.AddStats(&s)
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
