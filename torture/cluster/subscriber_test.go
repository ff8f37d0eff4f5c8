package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/torture/ledger"
	"github.com/parleyhub/parley/torture/workload"
)

// leavesAfter: a subscriber ends its loop after so many events, on average, and continues from its
// cursor.
const leavesAfter = 50

// redialTime is the longest pause between two attempts to connect.
const redialTime = 200 * time.Millisecond

// subscriber follows the conversations of a group by the sdk, which has the addresses of all hubs:
// each from its beginning to its close.
type subscriber struct {
	world *world
	id    string
	group int
	n     int
	seen  ledger.Seen
	wrong []string // events that were skipped, came again, or were others before
	turns int      // how often it continued from its cursor
}

// run follows until all conversations of the group are closed and nothing new is begun.
func (s *subscriber) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.world.Go(func() { // ends with the world
		for changed := s.world.Changed(); ; changed = s.world.Changed() {
			if s.world.Stage() == workload.Ended {
				cancel()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	if err := s.follow(ctx); err != nil && ctx.Err() == nil {
		s.world.Fail(fmt.Errorf("%s: %w", s.id, err))
	}
}

func (s *subscriber) follow(ctx context.Context) error {
	c, err := s.world.client(ctx, s.id)
	if err != nil {
		return err
	}
	defer func() { c.Close() }()
	for {
		id := workload.ConversationID(s.group, s.n)
		changed := s.world.Changed()
		stage := s.world.Stage()
		known := s.world.Known(id)
		switch {
		case stage == workload.Ended, stage == workload.Closing && known == 0:
			return nil
		case known == 0:
			<-changed
			continue
		}
		closed, err := s.listen(ctx, c, id)
		if err != nil {
			return err
		}
		if closed {
			s.n++
			continue
		}
		s.turns++
		if s.turns%4 == 0 { // over another client, too
			c.Close()
			next, err := s.world.client(ctx, s.id)
			if err != nil {
				return err
			}
			c = next
		}
	}
}

// listen receives events from the cursor of the subscriber, until the close or for a while.
func (s *subscriber) listen(ctx context.Context, c *sdk.Client, id string) (closed bool, err error) {
	for e, err := range c.Events(ctx, id, int64(len(s.seen[id]))) {
		if err != nil {
			return false, err
		}
		if want := int64(len(s.seen[id])) + 1; e.Seq != want {
			s.wrong = append(s.wrong, fmt.Sprintf("%s: seq %d came, expected %d", id, e.Seq, want))
		}
		if err := s.seen.Take(id, &e); err != nil {
			s.wrong = append(s.wrong, err.Error())
		}
		s.world.Note(id, e.Seq)
		if e.Closes() {
			return true, nil
		}
		if rand.IntN(leavesAfter) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// client dials all hubs by the sdk, until one is there.
func (w *world) client(ctx context.Context, as string) (*sdk.Client, error) {
	for {
		c, err := sdk.Dial(ctx, w.c.urls(), &sdk.Options{Token: w.c.token, AgentID: as, HTTPClient: w.c.dialer, MaxBackoff: time.Second})
		if err == nil || ctx.Err() != nil || !errors.Is(err, parley.ErrUnavailable) &&
			!errors.Is(err, context.DeadlineExceeded) {
			return c, err
		}
		time.Sleep(rand.N(redialTime))
	}
}
