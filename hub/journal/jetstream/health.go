package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley/hub/journal"
)

const (
	healthInterval = time.Second
	// deafAfter is how long a connected server may not answer before another one is tried.
	deafAfter = 5 * time.Second
	// stillAfter is how long the stream may be ahead of a replica that does not move before the
	// consumer is created again.
	stillAfter = 3 * time.Second
	// readyLag is how many messages the replica may be behind for Ready.
	readyLag = 1000
)

// health asks repeatedly for the end of the stream, so that a node notices when it is cut off.
type health struct {
	j     *Journal
	blobs atomic.Int64 // bytes

	mu       sync.Mutex // guards the fields below
	answered time.Time  // the last time
	last     uint64     // of the stream, at that time
	err      error      // of the last request
}

func newHealth(j *Journal, last uint64) *health {
	h := &health{j: j, answered: time.Now(), last: last}
	h.blobs.Store(int64(j.blobs.stream.CachedInfo().State.Bytes))
	return h
}

func (h *health) run(ctx context.Context) {
	ticker := time.NewTicker(healthInterval)
	defer ticker.Stop()
	var seen uint64 // applied
	still, turned := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		h.ask(ctx)
		applied, _ := h.j.follower.position()
		h.mu.Lock()
		last, silent := h.last, time.Since(h.answered)
		h.mu.Unlock()
		if applied != seen || applied >= last {
			seen, still = applied, time.Now()
		}
		if time.Since(still) > stillAfter {
			h.j.follower.again()
			still = time.Now()
		}
		if silent > deafAfter && time.Since(turned) > deafAfter && h.j.nc.IsConnected() {
			h.j.opts.Logger.Warn("journal: the NATS server does not answer, another is tried", "server",
				h.j.nc.ConnectedServerName())
			h.j.nc.ForceReconnect()
			turned = time.Now()
		}
	}
}

// ask asks for the end of the stream.
func (h *health) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := h.j.stream.Info(ctx)
	if err == nil && info.Config.Metadata[metaID] != h.j.id {
		err = fmt.Errorf("%w: the stream was made anew", ErrOtherStream)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	if err == nil {
		h.answered, h.last = time.Now(), info.State.LastSeq
	}
}

// sign records that a server answered.
func (h *health) sign() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered, h.err = time.Now(), nil
}

// away returns an error if the servers have not answered for so long that nothing should be
// published.
func (h *health) away() error {
	patience := h.j.opts.Patience
	if h.j.nc.IsConnected() {
		patience = 2*patience + healthInterval
	}
	h.mu.Lock()
	silent := time.Since(h.answered)
	h.mu.Unlock()
	if silent < patience {
		return nil
	}
	return fmt.Errorf("%w: the NATS servers have not answered for %s", journal.ErrUnavailable,
		silent.Round(time.Millisecond))
}

// Reached returns why this node can neither write nor read new records, or nil. The error is
// journal.ErrUnavailable, or the one that ended the journal.
func (j *Journal) Reached() error {
	final, now := j.follower.failure()
	if err := errors.Join(final, now); err != nil {
		return err
	}
	if !j.nc.IsConnected() {
		return fmt.Errorf("%w: no connection to a NATS server", journal.ErrUnavailable)
	}
	j.health.mu.Lock()
	defer j.health.mu.Unlock()
	if j.health.err != nil {
		return fmt.Errorf("%w: %w", journal.ErrUnavailable, j.health.err)
	}
	return nil
}

// Ready is Reached, and also fails if this node is far behind.
func (j *Journal) Ready() error {
	if err := j.Reached(); err != nil {
		return err
	}
	j.health.mu.Lock()
	defer j.health.mu.Unlock()
	if applied, _ := j.follower.position(); applied+readyLag < j.health.last {
		return fmt.Errorf("%w: the replica has %d of %d messages", journal.ErrUnavailable, applied, j.health.last)
	}
	return nil
}
