package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// A hub under load is killed shortly before the journal would bring its index up to date, by the
// number of new events or by time, whichever comes first. So nearly as much as can be is left to be
// read from the end of the log.
const (
	// MaxUnindexed is a little less than the events after which the journal does so, and crashTime
	// than the time.
	MaxUnindexed = 48_000
	crashTime    = 2600 * time.Millisecond
	// crashLimit bounds the load, and sameChange is how near to one another changes of the index's
	// file are those of one update.
	crashLimit = 60 * time.Second
	sameChange = 300 * time.Millisecond
	crashLook  = 2 * time.Millisecond
)

// crash starts a hub, appends events, and kills it. It returns the approximate number of events
// since the last update of the index.
func (c *cold) crash(ctx context.Context) (int64, error) {
	hub, err := StartHub(ctx, HubOptions{Dir: c.data()})
	if err != nil {
		return 0, err
	}
	var acked atomic.Int64
	load, err := newLoad(ctx, hub.Target(), c.options.load(&acked), c.filled.Conversations)
	if err != nil {
		hub.Stop()
		return 0, err
	}
	defer load.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := load.slice(ctx, crashLimit)
		ended <- err
	}()
	tail, err := c.awaitTail(ctx, &acked)
	hub.kill()
	failed := <-ended
	if err == nil && failed == nil {
		err = errors.New("the load ended before the kill")
	}
	c.filled.Events += int(acked.Load())
	if err == nil && acked.Load() == 0 {
		err = fmt.Errorf("nothing was appended: %w", failed)
	}
	return tail, err
}

// awaitTail waits for the moment to kill.
func (c *cold) awaitTail(ctx context.Context, acked *atomic.Int64) (int64, error) {
	path := filepath.Join(c.data(), "index.db")
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	changed, updated := info.ModTime(), false
	base, since := int64(0), time.Now() // after an orderly end the index has everything
	for end := since.Add(crashLimit); time.Now().Before(end); {
		if info, err = os.Stat(path); err != nil {
			return 0, err
		}
		if now := info.ModTime(); !now.Equal(changed) {
			if now.Sub(changed) > sameChange {
				base, since, updated = acked.Load(), time.Now(), true
			}
			changed = now
		}
		tail := acked.Load() - base
		if tail >= int64(c.options.Unindexed) || updated && tail > 0 && time.Since(since) > crashTime {
			return tail, nil
		}
		if err := sleep(ctx, crashLook); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("not enough was appended within %s", crashLimit)
}
