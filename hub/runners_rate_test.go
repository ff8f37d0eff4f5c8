package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
)

// TestBlueprintsThatChangeAlways: a runner that changes its blueprints all the time does not make
// the log of runners grow without bound. Unchanged blueprints cost nothing.
func TestBlueprintsThatChangeAlways(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: one caller registers megabytes of schemas")
	}
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		c := h.Client(h.LocalPrincipal("host"))
		defer c.Close()
		for n, err := range c.RegisterExecutor(t.Context(), &parley.RegisterExecutorParams{ExecutorID: "run-1"}, nil) {
			if err != nil || n.Registered == nil {
				t.Fatal(n, err)
			}
			break
		}
		say := func(i int) error {
			var all []parley.Blueprint
			for k := range 10 {
				schema := fmt.Sprintf(`{"type":"object","description":"%d%s"}`, i, strings.Repeat("x", 50<<10))
				all = append(all, parley.Blueprint{Name: fmt.Sprintf("b%d", k), ParametersSchema: json.RawMessage(schema)})
			}
			_, err := c.RegisterBlueprints(t.Context(), &parley.RegisterBlueprintsParams{Blueprints: all})
			return err
		}
		said := 0
		var err error
		for ; err == nil && said < 100; said++ {
			err = say(said)
		}
		var e *parley.Error
		if said < 5 || said > 10 || !errors.As(err, &e) || !errors.Is(err, parley.ErrRateLimited) || e.RetryAfterMs < 1000 {
			t.Fatalf("the %dth was answered with %v", said, err)
		}
		if err := say(said - 2); err != nil {
			t.Errorf("what it had said: %v", err)
		}
		time.Sleep(time.Duration(e.RetryAfterMs) * time.Millisecond)
		if err := say(said); err != nil {
			t.Errorf("after the time told: %v", err)
		}
	})
}
