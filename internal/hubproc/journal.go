package hubproc

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// JournalVariable is the address of NATS servers, in the form of --journal without the stream. If
// it is set, every hub stores its log there, with one stream per directory, and has a replica in
// the directory.
const JournalVariable = "PARLEY_TEST_JOURNAL"

// Shared reports whether hubs store their logs on NATS servers. In that case, tests that modify
// files modify a replica.
func Shared() bool { return os.Getenv(JournalVariable) != "" }

// Log returns the location of the log of a hub with a data directory, in the form of --data of
// "parley log".
func Log(dir string) string {
	if !Shared() {
		return dir
	}
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	sum := sha256.Sum256([]byte(dir))
	return os.Getenv(JournalVariable) + "&stream=t" + hex.EncodeToString(sum[:8])
}

// ServeArgs returns the arguments for a hub with further arguments of serve, including the location
// of the log.
func ServeArgs(args ...string) []string {
	all := append([]string{"serve"}, args...)
	i := slices.Index(all, "--data")
	if !Shared() || i < 0 || slices.Contains(all, "--journal") {
		return all
	}
	return append(all, "--journal", Log(all[i+1]))
}

// withLog replaces the data directory by the location of the log in the arguments of a command.
func withLog(args []string) []string {
	i := slices.Index(args, "--data")
	if i < 0 || strings.Contains(args[i+1], "://") {
		return args
	}
	args = slices.Clone(args)
	args[i+1] = Log(args[i+1])
	return args
}
