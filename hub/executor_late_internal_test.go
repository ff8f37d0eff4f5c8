package hub

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
)

// TestOvertakenRegistration: of two registrations of one executor the one that came last counts, also when the first has waited longer: a hub that is cut off from the log lets
// registrations wait, and the client of the first has gone on to another connection meanwhile.
func TestOvertakenRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openBare(t)
		gone := [2]bool{}
		var came [2]*executor
		for i := range came {
			p := h.LocalPrincipal("clinic").On(h.Connect(nil, func() { gone[i] = true }))
			x, err := h.newExecutor(p, &parley.RegisterExecutorParams{ExecutorID: "one", Agents: []string{"clinic"}, Mode: parley.ModePush})
			if err != nil {
				t.Fatal(err)
			}
			came[i] = x
		}
		var told [2]error
		for _, i := range []int{1, 0} {
			h.turns.register(came[i], nil, func(_ parley.RegisterExecutorResult, err error) { told[i] = err })
		}
		synctest.Wait()
		if told[1] != nil || !errors.Is(told[0], parley.ErrAlreadyExists) {
			t.Errorf("the first was told %v, and the second %v", told[0], told[1])
		}
		if !gone[0] || gone[1] {
			t.Errorf("to be ended: %v, expected the first connection", gone)
		}
		h.turns.mu.Lock()
		defer h.turns.mu.Unlock()
		if h.turns.executors[came[1].key] != came[1] {
			t.Error("the second one is not the executor")
		}
	})
}
