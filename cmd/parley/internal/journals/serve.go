package journals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// serveRetry is the time between two tries to open a shared log whose servers are away.
const serveRetry = 2 * time.Second

// openServeShared opens the log that a hub shares with others. It waits for servers that are away,
// until ctx ends.
func openServeShared(ctx context.Context, address, dir string, log *slog.Logger) (journal.Journal, error) {
	if bolt.Exists(dir) {
		return nil, exit.WithHint(fmt.Errorf("%s holds the log of a hub by itself", dir),
			"use another --data for this hub; 'parley log export' and 'parley log import' move conversations")
	}
	s, err := newShared(address, filepath.Join(dir, ReplicaDirectory))
	if err != nil {
		return nil, err
	}
	s.log = log
	for {
		j, err := s.open(ctx)
		if err == nil || ctx.Err() != nil || !errors.Is(err, journal.ErrUnavailable) {
			return asJournal(j), err
		}
		log.Warn("the log cannot be opened yet; it is tried again", "error", err)
		select {
		case <-time.After(serveRetry):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// asJournal is j, or nil and not a nil in an interface.
func asJournal(j *jetstream.Journal) journal.Journal {
	if j == nil {
		return nil
	}
	return j
}

// OpenForServe opens what the hub writes to. The directory is empty where that is memory.
func OpenForServe(ctx context.Context, c *config.Loaded, dev bool, log *slog.Logger) (dir string, j journal.Journal,
	err error) {
	if dev && !c.Given("data") {
		return "", memory.New(), nil
	}
	if dir, err = DataDirectory(c.Data); err != nil {
		return "", nil, err
	}
	if c.Journal != "" {
		j, err = openServeShared(ctx, c.Journal, dir, log)
		return dir, j, err
	}
	if _, err := os.Stat(filepath.Join(dir, ReplicaDirectory)); err == nil {
		return "", nil,
			exit.WithHint(fmt.Errorf("%s holds the replica of a log that hubs share, and no --journal names it", dir),
				"use another --data for a single hub")
	}
	j, err = Open(dir)
	return dir, j, err
}
