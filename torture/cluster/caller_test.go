package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/torture/ledger"
	"github.com/parleyhub/parley/torture/workload"
)

const (
	// dialTime bounds a handshake, and callTime a call: a hub that does not answer is left for another
	// one.
	dialTime = 2 * time.Second
	callTime = 4 * time.Second
)

// Dial connects a user to a hub.
func (c *cluster) Dial(hub int, user string) (*workload.Caller, error) {
	made, err := hubproc.Dial(c.hubs[hub-1].url(), user, func(*hubproc.Frame[struct{}]) {}, hubproc.CallerOptions{
		Token: c.token, Handshake: &wire.DialOptions{HTTPClient: c.dialer}, DialTimeout: dialTime, CallTimeout: callTime,
	})
	if err != nil {
		return nil, c.away(err)
	}
	return &workload.Caller{Caller: made, Hub: hub, Away: c.away}, nil
}

// away returns hubproc.ErrGone for the answers of a hub that lost the servers or is about to end.
func (c *cluster) away(err error) error {
	for _, gone := range []error{parley.ErrUnavailable, parley.ErrStorageFull, parley.ErrOutcomeUnknown,
		context.DeadlineExceeded} {
		if errors.Is(err, gone) {
			return hubproc.ErrGone
		}
	}
	if errors.Is(err, parley.ErrInternal) && c.cut.Load() { // it lost its disk, and says so
		return hubproc.ErrGone
	}
	return err
}

// world is the users of a cluster.
type world struct {
	*workload.World
	c           *cluster
	subscribers []*subscriber
}

func newWorld(t testing.TB, c *cluster) *world {
	w := &world{World: workload.New(t, c, size), c: c}
	for g := range size.Groups {
		s := &subscriber{world: w, id: fmt.Sprintf("s%d", g), group: g, seen: ledger.Seen{}}
		w.subscribers = append(w.subscribers, s)
		w.Go(s.run)
	}
	return w
}

// size has one open conversation for each group.
var size = workload.Config{Groups: 6, Writers: 4, Closers: 2, Stays: 64, Length: func(int) int64 { return 60 }}

// Next returns another hub than the last one.
func (c *cluster) Next(last int, done <-chan struct{}) int {
	select {
	case <-done:
		return 0
	default:
	}
	if last == 0 {
		return 1 + rand.IntN(hubs)
	}
	return 1 + (last+rand.IntN(hubs-1))%hubs
}

// Left returns no error for a hub that is gone.
func (c *cluster) Left(_ int, err error) error {
	if errors.Is(err, hubproc.ErrGone) {
		return nil
	}
	return err
}
