package hubproc

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// JournalVariable is the address of NATS servers, as --journal takes it but for the stream. Where it is set, every hub keeps its log there, each directory in a stream of its own,
// and has a replica in the directory.
const JournalVariable = "PARLEY_TEST_JOURNAL"

// Shared reports whether hubs keep their logs on NATS servers: then what a test does to their files is done to a replica.
func Shared() bool { return os.Getenv(JournalVariable) != "" }

// Log is where the log of a hub is that keeps its data in a directory, as --data of "parley log" takes it.
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

// ServeArgs are the arguments with which the program is a hub with more arguments of serve: they say where the log is.
func ServeArgs(args ...string) []string {
	all := append([]string{"serve"}, args...)
	i := slices.Index(all, "--data")
	if !Shared() || i < 0 || slices.Contains(all, "--journal") {
		return all
	}
	return append(all, "--journal", Log(all[i+1]))
}

// withLog has arguments of a command that reads or writes the log of a directory name the log.
func withLog(args []string) []string {
	i := slices.Index(args, "--data")
	if i < 0 || strings.Contains(args[i+1], "://") {
		return args
	}
	args = slices.Clone(args)
	args[i+1] = Log(args[i+1])
	return args
}
