package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// envData names the directory of the log.
const envData = "PARLEY_DATA"

// openServeJournal opens what the hub writes to. The directory is empty where that is memory.
func openServeJournal(ctx context.Context, c *config.Loaded, dev bool, log *slog.Logger) (dir string, j journal.Journal, err error) {
	if dev && !c.Given("data") {
		return "", memory.New(), nil
	}
	if dir, err = dataDir(c.Data); err != nil {
		return "", nil, err
	}
	if c.Journal != "" {
		j, err = openServeShared(ctx, c.Journal, dir, log)
		return dir, j, err
	}
	if _, err := os.Stat(filepath.Join(dir, replicaDir)); err == nil {
		return "", nil, withHint(fmt.Errorf("%s holds the replica of a log that hubs share, and no --journal names it", dir), "give a hub by itself another --data")
	}
	j, err = openData(dir)
	return dir, j, err
}

// openData opens the log in a directory, or on NATS servers; it is made if it is absent.
func openData(dir string) (journal.Journal, error) {
	if isShared(dir) {
		return openSharedScratch(dir, false)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j, err := bolt.Open(dir, nil)
	if err != nil {
		return nil, fmt.Errorf("open the log in %s: %w", dir, err)
	}
	return j, nil
}

// warnOpenDirectory says that others than the hub's user may read its log: everything that was said is in it.
func warnOpenDirectory(log zerolog.Logger, dir string) {
	info, err := os.Stat(dir)
	if dir == "" || err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return
	}
	log.Warn().Str("directory", dir).Stringer("mode", info.Mode()).Msg("others may look into the directory of the log: chmod 700 is safer")
}

// openExisting is openData for a place that must hold a log.
func openExisting(flag string) (journal.Journal, error) {
	if isShared(flag) {
		return openSharedScratch(flag, true)
	}
	dir, err := dataDir(flag)
	if err != nil {
		return nil, err
	}
	switch err := bolt.Find(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, withHint(fmt.Errorf("%s holds no log", dir), "--data names the directory of a hub's log")
	case errors.Is(err, fs.ErrPermission):
		return nil, withHint(err, "be the user that the hub runs as")
	case err != nil:
		return nil, err
	}
	return openData(dir)
}

// dataDir gives the directory that --data names, or the environment, else the one of the XDG rules.
func dataDir(flag string) (string, error) {
	fromEnv, set := os.LookupEnv(envData)
	if dir := cmp.Or(flag, fromEnv); dir != "" {
		return dir, nil
	}
	if set {
		return "", usagef("%s is empty: give it a value or unset it", envData)
	}
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "parley"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", withHint(err, "name a directory with --data")
	}
	return filepath.Join(home, ".local", "state", "parley"), nil
}

func displayDataDir() string { return "$" + envData + ", $XDG_STATE_HOME/parley" }
