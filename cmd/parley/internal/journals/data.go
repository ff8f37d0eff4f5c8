// Package journals opens the log of a hub: in memory, in a directory, or on NATS servers.
//
//	j, err := journals.OpenExisting(data)
package journals

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// envData names the directory of the log.
const envData = "PARLEY_DATA"

// Open opens the log in a directory, or on NATS servers; it is made if it is absent.
func Open(dir string) (journal.Journal, error) {
	if IsShared(dir) {
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

// OpenExisting is openData for a place that must hold a log.
func OpenExisting(flag string) (journal.Journal, error) {
	if IsShared(flag) {
		return openSharedScratch(flag, true)
	}
	dir, err := DataDirectory(flag)
	if err != nil {
		return nil, err
	}
	switch err := bolt.Find(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.WithHint(fmt.Errorf("%s holds no log", dir), "--data names the directory of a hub's log")
	case errors.Is(err, fs.ErrPermission):
		return nil, exit.WithHint(err, "be the user that the hub runs as")
	case err != nil:
		return nil, err
	}
	return Open(dir)
}

// DataDirectory returns the directory of --data, of the environment, or of the XDG rules, in this
// order.
func DataDirectory(flag string) (string, error) {
	fromEnv, set := os.LookupEnv(envData)
	if dir := cmp.Or(flag, fromEnv); dir != "" {
		return dir, nil
	}
	if set {
		return "", exit.Usagef("%s is empty: set a value or unset it", envData)
	}
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "parley"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", exit.WithHint(err, "name a directory with --data")
	}
	return filepath.Join(home, ".local", "state", "parley"), nil
}

// DataDirectoryHelp returns the default of --data for help texts.
func DataDirectoryHelp() string { return "$" + envData + ", $XDG_STATE_HOME/parley" }

// CheckDataFlag refuses --data of a variable that is not set: left out, it would mean a running
// hub.
func CheckDataFlag(c *cobra.Command, data string) error {
	if c.Flags().Changed("data") && data == "" {
		return exit.Usagef("--data is empty: set a value or leave it out")
	}
	return nil
}
