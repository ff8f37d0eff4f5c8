package blueprint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// The files of a runner in its directory. They are not read as blueprints.
const (
	runnerIDFile   = ".parley-runner-id"
	runnerLockFile = ".parley-runner-lock"
)

// byFlag is the expected value if the id cannot be stored.
const byFlag = "a directory that can be written; or the runner's id by flag"

// RunnerID returns the id of the runner of a directory, which is created and stored in the
// directory at the first call. The directory is locked until release is called or the process ends.
// It returns ErrAlreadyExists if another runner has the lock. A runner with a configured id does
// not need this function.
func RunnerID(dir string) (id string, release func(), err error) {
	lock := flock.New(filepath.Join(dir, runnerLockFile), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err == nil && !held {
		err = taken(dir)
	}
	if err == nil {
		id, err = keepID(filepath.Join(dir, runnerIDFile))
	}
	if err != nil {
		_ = lock.Close()
		return "", nil, refusal(dir, err)
	}
	return id, func() { _ = lock.Close() }, nil
}

// taken returns the error for a locked directory.
func taken(dir string) error {
	who := "another runner"
	if id, err := readID(filepath.Join(dir, runnerIDFile)); err == nil {
		who = "the runner " + id
	}
	return parley.Refuse(parley.ErrAlreadyExists, who+" serves the blueprints of "+dir+" already",
		"one runner for each directory")
}

func refusal(dir string, err error) error {
	var known *parley.Error
	if errors.As(err, &known) {
		return err
	}
	return parley.Refuse(parley.ErrValidationFailed,
		fmt.Sprintf("the runner's id cannot be stored in %s: %s", dir, reason(err)), byFlag)
}

// keepID returns the stored id, or creates one. The caller has the lock.
func keepID(path string) (string, error) {
	id, err := readID(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	id = "run-" + strings.ToLower(rand.Text()[:16])
	return id, writeID(path, id)
}

func readID(path string) (string, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return "", err
	}
	id := strings.TrimSuffix(string(text), "\n")
	if !parley.ValidParticipantID(id) {
		return "", parley.Refuse(parley.ErrValidationFailed, path+" has no valid id of a runner",
			"1 to 64 of A-Z a-z 0-9 . _ -; or the file removed")
	}
	return id, nil
}

// writeID creates the file atomically.
func writeID(path, id string) error {
	f, err := os.CreateTemp(filepath.Dir(path), runnerIDFile+"-*") // readable only for this user
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it was renamed, or is not needed
	_, err = f.WriteString(id + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
