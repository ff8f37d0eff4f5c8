package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPythonBlueprints runs the Python example as an agent. A Python command starts sessions of it
// over plain HTTP, with the token of the command's session. Both use one runner that runs one
// command at a time.
func TestPythonBlueprints(t *testing.T) {
	t.Parallel()
	require(t, "python3")
	h := program.Start(t, t.TempDir())
	defer h.Stop(t)
	t.Run("sessions", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "blueprints")
		for _, from := range []string{filepath.Join("..", "examples", "blueprints"),
			filepath.Join("testdata", "blueprints")} {
			for _, name := range []string{"csv*", "compare*"} {
				copyAll(t, filepath.Join(from, name), dir)
			}
		}
		background(t, h, string(program), "run", "--blueprints", dir, "--capacity", "1")
		parley := func(args ...string) (string, error) {
			cmd := exec.Command(string(program), args...)
			cmd.Env = hubEnv(h)
			out, err := cmd.Output()
			return string(out), err
		}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if out, _ := parley("agents"); strings.Contains(out, "compare") { // it is not there at first
				break
			} else if time.Now().After(end) {
				t.Fatalf("the agents are not there:\n%s", out)
			}
		}
		out, err := parley("start", "compare", "--param", "left=a,b\n1,2\n", "--param", "right=a,b\n1,2\n3,4\n")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got struct {
			Rows     map[string]int `json:"rows"`
			Stranger map[string]int `json:"stranger"`
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got.Rows["left"] != 1 || got.Rows["right"] != 2 {
			t.Errorf("the rows are %v", got.Rows)
		}
		for what, status := range got.Stranger {
			if status < 400 || status >= 500 {
				t.Errorf("the token of a command may %s: %d", what, status)
			}
		}
		if len(got.Stranger) != 4 {
			t.Errorf("it has tried %v", got.Stranger)
		}
	})
}

// copyAll copies the files of a pattern into a directory.
func copyAll(t *testing.T, pattern, dir string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		writeCopy(t, name, filepath.Join(dir, filepath.Base(name)))
	}
}

func writeCopy(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
