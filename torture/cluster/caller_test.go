package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/wire"
)

const (
	// dialTime bounds a handshake, and callTime a call: a hub that does not answer is left for another one.
	dialTime = 2 * time.Second
	callTime = 4 * time.Second
)

// caller makes calls on one socket.
type caller struct {
	*hubproc.Caller[struct{}]
	cluster *cluster
	hub     int // which one it is connected to, from 1
}

// dial connects to a hub, by its number from 1, as somebody.
func (c *cluster) dial(hub int, as string) (*caller, error) {
	made, err := hubproc.Dial(c.hubs[hub-1].url(), as, func(*hubproc.Frame[struct{}]) {}, hubproc.CallerOptions{
		Token: c.token, Handshake: &wire.DialOptions{HTTPClient: c.dialer}, DialTimeout: dialTime, CallTimeout: callTime,
	})
	if err != nil {
		return nil, c.away(err)
	}
	return &caller{Caller: made, cluster: c, hub: hub}, nil
}

// away gives hubproc.ErrGone for what a hub answers, or does not, that has lost the servers, or is about to end: the caller goes to another one.
func (c *cluster) away(err error) error {
	for _, gone := range []error{parley.ErrUnavailable, parley.ErrStorageFull, parley.ErrOutcomeUnknown, context.DeadlineExceeded} {
		if errors.Is(err, gone) {
			return hubproc.ErrGone
		}
	}
	if errors.Is(err, parley.ErrInternal) && c.cut.Load() { // it has lost its disk, and says so
		return hubproc.ErrGone
	}
	return err
}

func (c *caller) away(err error) error { return c.cluster.away(err) }
