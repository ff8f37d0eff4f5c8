package hub

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
)

// What one participant may write into the log of runners, in bytes: at once, and each second. Nothing is ever taken out of a log, and each start reads all of it.
const (
	saidBurst     = 4 << 20
	saidPerSecond = 1 << 10
	// maxSaying bounds the participants whose spending is remembered; beyond that all begin anew.
	maxSaying = 10_000
)

// spend refuses a registration of a number of bytes where its participant has written too much of late. saying is held.
func (r *runners) spend(participant string, n int) error {
	budget := r.budgets[participant]
	if budget == nil {
		if r.budgets == nil || len(r.budgets) >= maxSaying {
			r.budgets = make(map[string]*rate.Limiter)
		}
		budget = rate.NewLimiter(saidPerSecond, saidBurst)
		r.budgets[participant] = budget
	}
	now := time.Now()
	reserved := budget.ReserveN(now, min(n, saidBurst))
	wait := reserved.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reserved.CancelAt(now)
	return &parley.Error{
		Err: parley.ErrRateLimited, Message: "the blueprints have changed too often", RetryAfterMs: wait.Milliseconds() + 1,
		Expected: fmt.Sprintf("the same blueprints again, or at most %d bytes of others each second", saidPerSecond),
	}
}
