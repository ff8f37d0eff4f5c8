package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// wide are eight blueprints with large schemas, together more than half of what an answer of listAgents may hold.
func wide(runner string) []parley.Blueprint {
	var all []parley.Blueprint
	for i := range 8 {
		all = append(all, parley.Blueprint{
			Name:             fmt.Sprint(runner, i),
			ParametersSchema: json.RawMessage(`{"title":"` + strings.Repeat("x", limits.MaxAgentSchemaBytes-100) + `"}`),
		})
	}
	return all
}

// TestRoomForAgents: runners that register at the same moment are not let in together where only one fits, and what was refused takes no room.
func TestRoomForAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	inBubble(t, func(t *testing.T, h *hub.Hub, _ journal.Journal) {
		var all []*host
		for i := range 4 {
			all = append(all, arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: fmt.Sprint("r", i)}))
		}
		for range 2 { // a runner that left frees its room
			errs := make(chan error, len(all))
			for _, x := range all {
				q := &parley.RegisterBlueprintsParams{Blueprints: wide(x.id)}
				h.RegisterBlueprints(x.p, q, func(_ parley.RegisterBlueprintsResult, err error) { errs <- err })
			}
			taken := 0
			for range all {
				switch err := <-errs; {
				case err == nil:
					taken++
				case !errors.Is(err, parley.ErrTooLarge):
					t.Error(err)
				}
			}
			if taken != 1 {
				t.Errorf("%d of %d were let in, expected 1", taken, len(all))
			}
			r, err := h.ListAgents(t.Context(), h.LocalPrincipal("ann"), &parley.ListAgentsParams{})
			if err != nil {
				t.Fatal(err)
			}
			if answer, _ := json.Marshal(r); len(answer) > limits.MaxPageBytes {
				t.Errorf("the answer of listAgents has %d bytes", len(answer))
			}
			for _, x := range all {
				x.says()
			}
		}
	})
}
