package power

import (
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

// stuck is how long one call may take. A hub that does not answer is one that is gone.
const stuck = 60 * time.Second

// caller makes calls on one socket, and passes over what the hub says besides.
type caller struct {
	*hubproc.Caller[struct{}]
	life int // of the hub that it is connected to
}

// dial connects to a hub as agent.
func dial(url, agent string) (*caller, error) {
	c, err := hubproc.Dial(url, agent, func(*hubproc.Frame[struct{}]) {}, hubproc.CallerOptions{DialTimeout: stuck, CallTimeout: stuck})
	if err != nil {
		return nil, err
	}
	return &caller{Caller: c}, nil
}
