//go:build linux

package blueprint_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
)

var runnerID = regexp.MustCompile(`^run-[a-z2-7]{16}$`)

// A directory has one permanent id, and one runner at a time.
func TestRunnerID(t *testing.T) {
	dir := t.TempDir()
	id, release, err := blueprint.RunnerID(dir)
	if err != nil || !runnerID.MatchString(id) {
		t.Fatal(id, err)
	}
	if info, err := os.Stat(filepath.Join(dir, ".parley-runner-id")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	_, _, err = blueprint.RunnerID(dir)
	if !errors.Is(err, parley.ErrAlreadyExists) || !strings.Contains(err.Error(), id) {
		t.Errorf("a second runner: %v", err)
	}
	release()
	again, release, err := blueprint.RunnerID(dir)
	if err != nil || again != id {
		t.Errorf("%s, then %s, %v", id, again, err)
	}
	release()
	if set, faults := blueprint.Load(dir); len(set.Files) != 0 || len(faults) != 0 {
		t.Errorf("its files were taken for blueprints: %v, %v", set.Files, faults)
	}
	other, release, err := blueprint.RunnerID(t.TempDir())
	if err != nil || other == id {
		t.Errorf("another directory has %s too, %v", other, err)
	}
	release()
}

// Of several concurrent runners, one gets the directory. All see the same id.
func TestRunnerIDAtOnce(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	ids := map[string]int{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			id, release, err := blueprint.RunnerID(dir)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ids[id]++
				release()
			case !errors.Is(err, parley.ErrAlreadyExists):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(ids) != 1 {
		t.Errorf("ids: %v", ids)
	}
}

// After a runner was killed, the next one gets the directory.
func TestRunnerIDOfTheDead(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "program", "hold", dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	held := make([]byte, 20)
	if _, err := out.Read(held); err != nil || !runnerID.Match(held) {
		t.Fatalf("%q %v", held, err)
	}
	if _, _, err := blueprint.RunnerID(dir); !errors.Is(err, parley.ErrAlreadyExists) {
		t.Errorf("beside it: %v", err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	id, release, err := blueprint.RunnerID(dir)
	if err != nil || id != string(held) {
		t.Errorf("%s after %s, %v", id, held, err)
	}
	release()
}

// If the id cannot be stored, or the stored id is invalid, the error names the remedy.
func TestRunnerIDRefused(t *testing.T) {
	_, _, err := blueprint.RunnerID(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, parley.ErrValidationFailed) || !strings.Contains(err.Error(), "the runner's id by flag") {
		t.Errorf("no directory: %v", err)
	}
	dir := t.TempDir()
	write(t, dir, ".parley-runner-id", "two words\n")
	if _, _, err := blueprint.RunnerID(dir); !errors.Is(err, parley.ErrValidationFailed) ||
		!strings.Contains(err.Error(), "has no valid id of a runner") {
		t.Errorf("no id: %v", err)
	}
	write(t, dir, ".parley-runner-id", "mine\n")
	id, release, err := blueprint.RunnerID(dir)
	if err != nil || id != "mine" {
		t.Errorf("one's own: %s, %v", id, err)
	}
	release()
}
